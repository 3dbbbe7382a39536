import Foundation
import HaulCore
import HaulTesting
import Testing

/// `haul get URL -o s3://bucket/key` with real programs and connections: the fault server is both
/// the source and the store.
@Suite(.serialized, .timeLimit(.minutes(10))) struct RemoteUploadRuns {
  private static let part: Int64 = 8 << 20
  private static let length = 3 * part + 1
  private static let content = SeededContent(seed: 6).bytes(at: 0, count: Int(length))

  private func with(
    _ change: (inout FaultScript.Resource) -> Void = { _ in },
    store service: FaultScript.Resource.UploadService = .s3,
    _ body: (CommandFixture, [String: String]) async throws -> Void
  ) async throws {
    let source = FaultScript.Resource("/f.bin", seed: 6, length: Self.length).with(change)
    let store = FaultScript.Resource("/bucket/", length: 0).with { $0.service = service }
    try await CommandFixture.with([source, store]) { fixture in
      let environment = [
        "AWS_ENDPOINT_URL_S3": fixture.server.origin, "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "secret/+",
        "XDG_STATE_HOME": fixture.path("state"),
      ]
      try await body(fixture, environment)
    }
  }

  private func arguments(_ fixture: CommandFixture, _ more: String...) -> [String] {
    ["get", "--json", fixture.server.url("/f.bin"), "-o", "s3://bucket/k"] + more
  }

  private func parts(_ server: FaultServer) -> [RequestRecord] {
    server.snapshot.requests.filter { $0.method == "PUT" && $0.path == "/bucket/k" }
  }

  @Test func `the store has the file, and this machine has none`() async throws {
    try await with { (fixture, environment) async throws in
      let result = try await fixture.haul(
        arguments(fixture, "-H", "X-Source: source-field"), environment: environment)
      #expect(result.status == 0, "\(result.errors)")
      #expect(fixture.server.files(below: "/bucket/") == ["/bucket/k": Self.content])
      let events = try result.events()
      #expect(events.of("added").allSatisfy { $0["kind"]?.string == "upload" })
      #expect(events.finished.allSatisfy { $0["bytes"] == .integer(Self.length) })
      #expect(try fixture.names().allSatisfy { $0.hasPrefix("state") })
      for request in fixture.server.snapshot.requests {
        let isOfSource = request.path == "/f.bin"
        #expect((request.header("X-Source") != nil) == isOfSource)
        #expect((request.header("Authorization") == nil) == isOfSource)
      }
    }
  }

  @Test(arguments: [(1, 1), (65_536, 1), (65_537, 2)])
  func `a small source is asked once`(length: Int64, requests: Int) async throws {
    try await with({ $0.length = length }) { (fixture, environment) async throws in
      let result = try await fixture.haul(arguments(fixture), environment: environment)
      #expect(result.status == 0, "\(result.errors)")
      let content = SeededContent(seed: 6).bytes(at: 0, count: Int(length))
      #expect(fixture.server.files(below: "/bucket/") == ["/bucket/k": content])
      #expect(fixture.server.snapshot.requestCount("/f.bin") == requests)
    }
  }

  @Test
  func `after kill -9 the same command fetches and sends only what is missing`() async throws {
    try await with { (fixture, environment) async throws in
      let server = fixture.server
      // The last part has one byte; its request is held before its answer.
      server.setFaults(
        "/f.bin", [Fault(.stallBeforeHead, when: .init(offsetAtLeast: 3 * Self.part))])
      let run = try await CommandRun(
        arguments(fixture), in: fixture.directory, environment: environment)
      try await server.waitUntil { snapshot in
        snapshot.requests.count {
          $0.method == "PUT" && $0.path == "/bucket/k" && $0.outcome == .completed
        } == 3
      }
      run.send(SIGKILL)
      _ = await run.end()
      #expect(server.files(below: "/bucket/").isEmpty)
      server.setFaults("/f.bin", [])
      let asked = server.snapshot.requests.count { $0.path == "/f.bin" }
      let result = try await fixture.haul(arguments(fixture), environment: environment)
      #expect(result.status == 0, "\(result.errors)")
      #expect(server.files(below: "/bucket/") == ["/bucket/k": Self.content])
      #expect(parts(server).count == 4)
      let ranges = server.snapshot.requests.filter { $0.path == "/f.bin" }.dropFirst(asked)
      #expect(
        ranges.map(\.range) == ["bytes=0-65535", "bytes=\(3 * Self.part)-\(3 * Self.part)"])
      #expect(try result.events().finished.first?["reused"] == .integer(3 * Self.part))
    }
  }

  @Test(arguments: [false, true])
  func `a run that was held adopts what another machine has published meanwhile`(changes: Bool)
    async throws
  {
    try await with { (fixture, environment) async throws in
      let server = fixture.server
      server.setFaults(
        "/f.bin", [Fault(.stallBeforeHead, when: .init(times: 1, offsetAtLeast: 3 * Self.part))])
      let held = try await CommandRun(
        arguments(fixture), in: fixture.directory, environment: environment)
      try await server.waitForHeld("/f.bin")
      if changes { server.replaceContent("/f.bin", seed: 7) }
      let other = environment.merging(["XDG_STATE_HOME": fixture.path("other")]) { $1 }
      #expect(try await fixture.haul(arguments(fixture), environment: other).status == 0)
      server.release("/f.bin")
      let result = await held.end()
      #expect(result.status == 0, "\(result.errors)")
      let end = try #require(try result.events().finished.first)
      #expect(end["is_adopted"] == .bool(true) && end["bytes"] == .integer(Self.length))
      let content = SeededContent(seed: changes ? 7 : 6).bytes(at: 0, count: Int(Self.length))
      #expect(server.files(below: "/bucket/") == ["/bucket/k": content])
      #expect(server.snapshot.requests.last?.method == "DELETE")
    }
  }

  @Test(arguments: [FaultScript.Resource.UploadService.s3, .s3Unconditional])
  func `an object that another machine has replaced stays, whatever the store thinks of it`(
    service: FaultScript.Resource.UploadService
  ) async throws {
    try await with(store: service) { (fixture, environment) async throws in
      let server = fixture.server
      #expect(try await fixture.haul(arguments(fixture), environment: environment).status == 0)
      // The next version, of which the next run has read all when the last of its parts is held.
      server.replaceContent("/f.bin", seed: 8)
      server.setFaults(
        "/bucket/", [Fault(.stallBeforeHead, when: .init(method: "PUT", skip: 3, times: 1))])
      let held = try await CommandRun(
        arguments(fixture), in: fixture.directory, environment: environment)
      try await server.waitForHeld("/bucket/")
      server.replaceContent("/f.bin", seed: 7)
      let other = environment.merging(["XDG_STATE_HOME": fixture.path("other")]) { $1 }
      #expect(try await fixture.haul(arguments(fixture), environment: other).status == 0)
      server.release("/bucket/")
      let result = await held.end()
      #expect(result.status == 0, "\(result.errors)")
      #expect(try result.events().finished.first?["is_adopted"] == .bool(true))
      let content = SeededContent(seed: 7).bytes(at: 0, count: Int(Self.length))
      #expect(server.files(below: "/bucket/") == ["/bucket/k": content])
    }
  }

  @Test func `a source that ignores ranges arrives as a stream`() async throws {
    try await with({ $0.acceptRanges = .none }) { (fixture, environment) async throws in
      let result = try await fixture.haul(arguments(fixture), environment: environment)
      #expect(result.status == 0, "\(result.errors)")
      #expect(fixture.server.files(below: "/bucket/") == ["/bucket/k": Self.content])
    }
  }

  @Test func `a wrong checksum makes no object, and ends with status 1`() async throws {
    try await with { (fixture, environment) async throws in
      let zeros = String(repeating: "0", count: 64)
      let result = try await fixture.haul(
        arguments(fixture, "--checksum", "sha-256=\(zeros)"), environment: environment)
      #expect(result.status == 1)
      #expect(result.errors.contains("checksum-mismatch") || result.errors.contains("sha-256"))
      #expect(fixture.server.files(below: "/bucket/").isEmpty)
      #expect(fixture.server.snapshot.requests.last?.method == "DELETE")
    }
  }
}

/// The same through a real daemon.
@Suite(.timeLimit(.minutes(10)))
struct DaemonRemoteRuns {
  @Test func `after kill -9 the daemon sends only the parts that are not in the store`()
    async throws
  {
    let part: Int64 = 8 << 20
    let source = FaultScript.Resource("/f.bin", seed: 6, length: 2 * part + 1).with {
      $0.faults = [Fault(.stallBeforeHead, when: .init(offsetAtLeast: 2 * part))]
    }
    let store = FaultScript.Resource("/bucket/", length: 0).with { $0.service = .s3 }
    try await DaemonFixture.with([source, store]) { fixture in
      let server = fixture.work.server
      let serving = try await fixture.serve()
      let result = try await fixture.work.haul(
        ["add", server.url("/f.bin"), "-o", "s3://bucket/k", "-H", "X-Source: field"],
        environment: fixture.environment.merging([
          "AWS_ENDPOINT_URL_S3": server.origin, "AWS_ACCESS_KEY_ID": "id",
          "AWS_SECRET_ACCESS_KEY": "secret/+",
        ]) { $1 })
      #expect(result.status == 0, "\(result.errors)")
      try await server.waitUntil { snapshot in
        snapshot.requests.count {
          $0.method == "PUT" && $0.path == "/bucket/k" && $0.outcome == .completed
        } == 2
      }
      serving.send(SIGKILL)
      _ = await serving.end()
      server.setFaults("/f.bin", [])
      let next = try await fixture.serve()
      #expect(try await fixture.haul("wait", "--all").status == 0)
      let content = SeededContent(seed: 6).bytes(at: 0, count: Int(2 * part + 1))
      #expect(server.files(below: "/bucket/") == ["/bucket/k": content])
      #expect(server.snapshot.requests.count { $0.method == "PUT" } == 3)
      #expect(
        server.snapshot.requests.filter { $0.path == "/f.bin" }
          .allSatisfy { $0.header("X-Source") == "field" })
      try await fixture.end()
      _ = await next.end()
    }
  }
}

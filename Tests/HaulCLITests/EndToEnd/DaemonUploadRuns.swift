import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// Uploads through a real daemon.
@Suite(.timeLimit(.minutes(10)))
struct DaemonUploadRuns {
  private static let content = SeededContent(seed: 4).bytes(at: 0, count: 300_000)

  private func with(
    _ faults: Fault..., body: (DaemonFixture) async throws -> Void
  ) async throws {
    let resources = ["/f.bin", "/g.bin"].map {
      FaultScript.Resource($0, length: 0, faults: faults)
    }
    try await DaemonFixture.with(resources) { fixture in
      for name in ["f.bin", "g.bin"] {
        try Data(Self.content).write(to: URL(filePath: fixture.work.path(name)))
      }
      try await body(fixture)
    }
  }

  private func put(_ fixture: DaemonFixture, _ arguments: String...) async throws -> [String] {
    let result = try await fixture.work.haul(
      ["add", "--put"] + arguments, environment: fixture.environment)
    #expect(result.status == 0, "\(result.errors)")
    return result.output.split(separator: "\n").map(String.init)
  }

  @Test func `what the server has is skipped, and sent again if it is another file`() async throws {
    try await with { fixture in
      for (way, count) in [("skip", 0), ("update", 1)] {
        let url = fixture.work.server.url("/f.bin")
        let id = try await put(fixture, "--if-exists", way, "f.bin", url)[0]
        #expect(try await fixture.haul("wait", id).status == 0)
        let requests = fixture.work.server.snapshot.requests.filter { $0.method == "PUT" }
        #expect(requests.count == count, "\(way)")
      }
    }
  }

  @Test func `files arrive under their names; show says that they are uploads`() async throws {
    try await with { fixture in
      let ids = try await put(fixture, "f.bin", "g.bin", fixture.work.server.url("/"))
      #expect(ids.count == 2)
      #expect(try await fixture.haul("wait", "--all").status == 0)
      let requests = fixture.work.server.snapshot.requests.filter { $0.method != "HEAD" }
        .sorted { $0.path < $1.path }
      #expect(requests.map(\.path) == ["/f.bin", "/g.bin"])
      #expect(requests.allSatisfy { $0.method == "PUT" && $0.body == Self.content })
      let document = try await fixture.state(of: ids[0])
      #expect(document.kind == .upload)
      #expect(document.bytes == 300_000)
      let shown = try await fixture.haul("show", ids[0])
      #expect(shown.output.contains("kind       upload\n"))
    }
  }

  @Test func `a pause frees the slot for the next one; resume sends the whole file`() async throws {
    try await with(Fault(.stallBeforeHead, when: .first(1))) { fixture in
      let serving = try await fixture.serve("-j", "1")
      let server = fixture.work.server
      let first = try await put(fixture, "f.bin", server.url("/f.bin"))[0]
      try await server.waitForHeld("/f.bin")
      server.setFaults("/g.bin", [])
      let second = try await put(fixture, "g.bin", server.url("/g.bin"))[0]
      #expect(try await fixture.state(of: second).waiting?.code == "slot")
      #expect(try await fixture.haul("pause", first).status == 0)
      #expect(try await fixture.haul("wait", second).status == 0)
      #expect(try await fixture.state(of: first).state == .paused)
      #expect(try await fixture.haul("resume", first).status == 0)
      #expect(try await fixture.haul("wait", first).status == 0)
      #expect(
        server.snapshot.requests.last { $0.path == "/f.bin" && $0.method == "PUT" }?.body
          == Self.content)
      try await fixture.end()
      _ = await serving.end()
    }
  }

  @Test func `a conflict mentions an earlier attempt only if there was one`() async throws {
    try await with { fixture in
      let url = fixture.work.server.url("/f.bin")
      let id = try await put(fixture, "--if-exists", "fail", "f.bin", url)[0]
      #expect(try await fixture.haul("wait", id).status == 1)
      let first = try #require(try await fixture.state(of: id).error)
      #expect(first.code == .nameConflict && !first.message.contains("earlier attempt"))
      #expect(try await fixture.haul("retry", id).status == 0)
      #expect(try await fixture.haul("wait", id).status == 1)
      #expect(try await fixture.state(of: id).error?.message.contains("earlier attempt") == true)
    }
  }

  @Test
  func `after kill -9 the daemon uploads on; a POST that may have arrived fails instead`()
    async throws
  {
    try await with(Fault(.stallBeforeHead, when: .first(1))) { fixture in
      let server = fixture.work.server
      let serving = try await fixture.serve()
      let put = try await put(fixture, "f.bin", server.url("/f.bin"))[0]
      let post = try await self.put(fixture, "--method", "post", "g.bin", server.url("/g.bin"))[0]
      try await server.waitForHeld("/f.bin")
      try await server.waitForHeld("/g.bin")
      serving.send(SIGKILL)
      _ = await serving.end()
      let next = try await fixture.serve()
      #expect(try await fixture.haul("wait", put).status == 0)
      #expect(
        server.snapshot.requests.last { $0.path == "/f.bin" && $0.method == "PUT" }?.body
          == Self.content)
      #expect(try await fixture.haul("wait", post).status != 0)
      #expect(try await fixture.state(of: post).error?.code == .interrupted)
      #expect(server.snapshot.requests.count { $0.path == "/g.bin" } == 1)
      try await fixture.end()
      _ = await next.end()
    }
  }

  @Test func `a form arrives with its fields and files`() async throws {
    try await with { fixture in
      let result = try await fixture.haul(
        "add", "--form", "a=@f.bin", "--field", "n=é", fixture.work.server.url("/f.bin"))
      #expect(result.status == 0, "\(result.errors)")
      #expect(try await fixture.haul("wait", "--all").status == 0)
      let request = try #require(fixture.work.server.snapshot.requests.first)
      #expect(request.method == "POST")
      #expect(request.header("Content-Type")?.hasPrefix("multipart/form-data") == true)
      let text = String(decoding: request.body.prefix(200), as: UTF8.self)
      #expect(text.contains("name=\"n\"\r\n\r\né\r\n--haul-"))
      #expect(request.bodyReceived > 300_000)
    }
  }
}

/// Uploads to an S3 store through a real daemon, which has no access key of its own.
@Suite(.timeLimit(.minutes(10)))
struct DaemonS3Runs {
  private static let length = 33 << 20

  /// A file of three parts, and a store.
  private func with(_ body: (DaemonFixture) async throws -> Void) async throws {
    let store = FaultScript.Resource("/bucket/", length: 0).with { $0.service = .s3 }
    try await DaemonFixture.with([store]) { fixture in
      let content = SeededContent(seed: 5).bytes(at: 0, count: Self.length)
      try Data(content).write(to: URL(filePath: fixture.work.path("f.bin")))
      try await body(fixture)
    }
  }

  /// Adds the upload of the file, whose first part the store does not acknowledge; returns once it
  /// has acknowledged the others.
  private func add(_ key: String, _ fixture: DaemonFixture) async throws -> String {
    let server = fixture.work.server
    server.setFaults(
      "/bucket/", [Fault(.stallBeforeHead, when: .init(method: "PUT", times: 1))])
    let result = try await fixture.work.haul(
      ["add", "--put", "f.bin", "s3://bucket/\(key)"],
      environment: fixture.environment.merging([
        "AWS_ENDPOINT_URL_S3": server.origin, "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "secret/+", "AWS_SESSION_TOKEN": "session",
      ]) { $1 })
    #expect(result.status == 0, "\(result.errors)")
    try await server.waitUntil { snapshot in
      let parts = snapshot.requests.filter { $0.method == "PUT" && $0.path == "/bucket/\(key)" }
      return parts.count == 3 && parts.count { $0.outcome == .completed } == 2
    }
    return result.output.trimmingCharacters(in: .newlines)
  }

  @Test func `after kill -9 the daemon sends no part again that the store has`() async throws {
    try await with { fixture in
      let serving = try await fixture.serve()
      let id = try await add("k", fixture)
      serving.send(SIGKILL)
      _ = await serving.end()
      let next = try await fixture.serve()
      #expect(try await fixture.haul("wait", id).status == 0)
      let server = fixture.work.server
      let content = SeededContent(seed: 5).bytes(at: 0, count: Self.length)
      #expect(server.files(below: "/bucket/") == ["/bucket/k": content])
      let requests = server.snapshot.requests
      // The store had the part whose answer did not come.
      #expect(requests.count { $0.method == "PUT" } == 3)
      #expect(requests.count { $0.target.hasSuffix("?uploads") } == 1)
      #expect(requests.allSatisfy { $0.header("X-Amz-Security-Token") == "session" })
      try await fixture.end()
      _ = await next.end()
    }
  }

  @Test(arguments: ["cancel", "remove"])
  func `cancel and remove delete the parts from the store`(command: String) async throws {
    try await with { fixture in
      let id = try await add("k", fixture)
      if command == "remove" { #expect(try await fixture.haul("pause", id).status == 0) }
      #expect(try await fixture.haul(command, id).status == 0)
      try await fixture.work.server.waitUntil { snapshot in
        snapshot.requests.contains { $0.method == "DELETE" && $0.status == 204 }
      }
      #expect(fixture.work.server.files(below: "/bucket/").isEmpty)
    }
  }
}

import Foundation
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Two resources of one server or two with the same entity tag, as nginx makes it: same length,
/// same second.
@Suite(.timeLimit(.minutes(10))) struct OtherAddressTests {
  private static let length = 2 << 20
  private static let (a, b): (UInt64, UInt64) = (21, 22)

  private static func resource(
    _ path: String, seed: UInt64, _ faults: Fault...
  ) -> FaultScript.Resource {
    FaultScript.Resource(path, seed: seed, length: Int64(length), faults: faults).with {
      $0.entityTag = "\"same\""
    }
  }

  private static let held: Int64 = 256 << 10
  private static let stalling = Fault(.stall(after: held))

  /// `/a` and `/b` with the same length; a run of `/a` to `z` that was paused with bytes.
  private func interrupted(
    connections: Int = 1, _ more: [FaultScript.Resource] = [],
    _ body: (DownloadFixture) async throws -> Void
  ) async throws {
    let resources = [
      Self.resource("/a", seed: Self.a, Self.stalling), Self.resource("/b", seed: Self.b),
    ]
    try await DownloadFixture.with(resources + more) { fixture in
      try await fixture.interrupt(
        try fixture.request("/a", as: "z") { $0.connections = connections }, at: Self.held)
      fixture.server.setFaults("/a", [])
      try await body(fixture)
    }
  }

  private func onOtherHost(_ request: DownloadRequest) throws -> DownloadRequest {
    var request = request
    let text = request.url.description.replacing("127.0.0.1", with: "localhost")
    request.url = try ResourceURL(text)
    return request
  }

  @Test(arguments: [1, 4], [false, true])
  func `A download from another address to the same target is completely the other file`(
    connections: Int, isOtherHost: Bool
  ) async throws {
    try await interrupted(connections: connections) { fixture in
      var request = try fixture.request("/b", as: "z") { $0.connections = connections }
      if isOtherHost { request = try onOtherHost(request) }
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole("z", seed: Self.b, length: Self.length, outcome)
      #expect(outcome.restarts == 1)
      #expect(outcome.result.reused == 0)
      #expect(try fixture.names() == ["z"])
    }
  }

  @Test(arguments: [true, false], ["token", "sig", "Expires"])
  func `A changed token in the address resumes only if the bytes compare equal`(
    isSame: Bool, key: String
  )
    async throws
  {
    try await DownloadFixture.with([Self.resource("/a", seed: Self.a, Self.stalling)]) { fixture in
      try await fixture.interrupt(try fixture.request("/a?\(key)=1", as: "z"), at: Self.held)
      fixture.server.setFaults("/a", [])
      if !isSame { fixture.server.update("/a") { $0.seed = Self.b } }
      let outcome = try await fixture.finish(try fixture.request("/a?\(key)=2", as: "z"))
      try fixture.expectWhole("z", seed: isSame ? Self.a : Self.b, length: Self.length, outcome)
      #expect((outcome.result.reused > 0) == isSame)
      #expect(outcome.result.verified == .length)
    }
  }

  @Test func `Another query is another resource`() async throws {
    try await interrupted { fixture in
      fixture.server.update("/a") { $0.seed = Self.b }
      let outcome = try await fixture.finish(try fixture.request("/a?id=2", as: "z"))
      try fixture.expectWhole("z", seed: Self.b, length: Self.length, outcome)
      #expect(outcome.result.reused == 0)
    }
  }

  @Test func `The old part file is unchanged until the first byte of the new resource`()
    async throws
  {
    try await interrupted { fixture in
      let gone = try await fixture.finish(try fixture.request("/gone", as: "z"))
      try fixture.expectFailure(.notFound, gone, without: "z")
      let old = try await fixture.finish(try fixture.request("/a", as: "z"))
      try fixture.expectWhole("z", seed: Self.a, length: Self.length, old)
      #expect(old.result.reused >= Self.held)
      #expect(old.restarts == 0)
    }
  }

  @Test func `A cancelled download from another address keeps the old part file`() async throws {
    try await interrupted { fixture in
      fixture.server.setFaults("/b", [Fault(.stallBeforeHead)])
      let manager = try TransferManager()
      let transfer = try await manager.add(
        .download(ResourceURL(fixture.server.url("/b")), to: .file(fixture.path("z"))))
      try await fixture.server.waitForHeld("/b")
      try await transfer.cancel()
      await manager.shutdown()
      let old = try await fixture.finish(try fixture.request("/a", as: "z"))
      #expect(old.result.reused >= Self.held)
      try fixture.expectWhole("z", seed: Self.a, length: Self.length, old)
    }
  }

  @Test(arguments: [
    ("X-Amz-Signature=1&X-Amz-Date=2", "X-Amz-Signature=3&X-Amz-Date=4"),
    ("Expires=1&Signature=2&Key-Pair-Id=3", "Expires=4&Signature=5&Key-Pair-Id=6"),
    ("sv=1&se=2&sig=3", "sv=2&se=3&sig=4"), ("id=7&token=1", "id=7&token=2#part"),
  ])
  func `Another signature of the same address resumes`(old: String, new: String) async throws {
    let resource = Self.resource("/a", seed: Self.a, Self.stalling)
    try await DownloadFixture.with([resource]) { fixture in
      try await fixture.interrupt(
        try fixture.request("/a?" + old, as: "z") { $0.connections = 1 }, at: Self.held)
      fixture.server.setFaults("/a", [])
      let outcome = try await fixture.finish(try fixture.request("/a?" + new, as: "z"))
      try fixture.expectWhole("z", seed: Self.a, length: Self.length, outcome)
      #expect(outcome.result.reused >= Self.held)
      #expect(outcome.restarts == 0)
    }
  }

  @Test func `A request that permits it resumes from another address`() async throws {
    let mirror = Self.resource("/mirror", seed: Self.a)
    let newer = Self.resource("/newer", seed: Self.b).with { $0.entityTag = "\"newer\"" }
    try await interrupted([mirror, newer]) { fixture in
      // Its bytes are not discarded without a word.
      let other = try await fixture.finish(
        try fixture.request("/newer", as: "z") { $0.resumesFromOtherURL = true })
      try fixture.expectFailure(.changedOnServer, other, without: "z")
      let outcome = try await fixture.finish(
        try fixture.request("/mirror", as: "z") { $0.resumesFromOtherURL = true })
      try fixture.expectWhole("z", seed: Self.a, length: Self.length, outcome)
      #expect(outcome.result.reused > 0)
    }
  }

  @Test func `With a digest of the whole file, bytes are reused from a mirror`() async throws {
    let mirror = Self.resource("/mirror", seed: Self.a).with { $0.entityTag = "\"its own\"" }
    try await interrupted([mirror]) { fixture in
      let checksums = rightChecksums(seed: Self.a, length: Int64(Self.length))
      let outcome = try await fixture.finish(
        try fixture.request("/mirror", as: "z") { $0.checksums = checksums })
      try fixture.expectWhole("z", seed: Self.a, length: Self.length, outcome)
      #expect(outcome.result.verified == .checksum)
      #expect(outcome.result.reused >= Self.held)
    }
  }

  @Test func `With a digest of another file, the bytes are downloaded again in the same run`()
    async throws
  {
    try await interrupted { fixture in
      let checksums = rightChecksums(seed: Self.b, length: Int64(Self.length))
      let outcome = try await fixture.finish(
        try fixture.request("/b", as: "z") { $0.checksums = checksums })
      try fixture.expectWhole("z", seed: Self.b, length: Self.length, outcome)
      #expect(outcome.result.verified == .checksum)
      #expect(outcome.restarts == 1)
    }
  }

  /// Bytes joined because of a digest do not count without one, for either address.
  @Test(arguments: ["/a", "/b"])
  func `Bytes that only a digest could prove are discarded without one`(
    path: String
  ) async throws {
    try await interrupted { fixture in
      fixture.server.setFaults("/b", [Fault(.stall(after: 512 << 10))])
      try await fixture.interrupt(
        try fixture.request("/b", as: "z") {
          $0.connections = 1
          $0.checksums = rightChecksums(seed: Self.a)
        }, at: 2 * Self.held)
      fixture.server.setFaults("/b", [])
      let outcome = try await fixture.finish(try fixture.request(path, as: "z"))
      let seed = path == "/a" ? Self.a : Self.b
      try fixture.expectWhole("z", seed: seed, length: Self.length, outcome)
      #expect(outcome.result.reused == 0)
    }
  }

  @Test(arguments: [false, true])
  func `Bytes of a mirror are reused if both servers announce the same digest`(
    isSame: Bool
  ) async throws {
    let digest = Fault(.digest())
    let a = Self.resource("/a", seed: Self.a, digest, Self.stalling)
    let other = Self.resource("/other", seed: isSame ? Self.a : Self.b, digest)
    try await DownloadFixture.with([a, other]) { fixture in
      try await fixture.interrupt(
        try fixture.request("/a", as: "z") { $0.connections = 1 }, at: Self.held)
      let outcome = try await fixture.finish(try fixture.request("/other", as: "z"))
      try fixture.expectWhole(
        "z", seed: isSame ? Self.a : Self.b, length: Self.length, outcome)
      #expect((outcome.result.reused > 0) == isSame)
    }
  }

  @Test(arguments: [1, 4])
  func `If an address redirects elsewhere than before, the file is of the new target`(
    connections: Int
  ) async throws {
    let start = FaultScript.Resource.redirecting("/start", to: "/a")
    let resources = [
      start, Self.resource("/a", seed: Self.a, Self.stalling), Self.resource("/b", seed: Self.b),
    ]
    try await DownloadFixture.with(resources) { fixture in
      let request = try fixture.request("/start", as: "z") { $0.connections = connections }
      try await fixture.interrupt(request, at: Self.held)
      fixture.server.setFaults("/a", [Fault(.status(404))])
      fixture.server.update("/start") { $0.redirect = .init(location: "/b") }
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole("z", seed: Self.b, length: Self.length, outcome)
    }
  }

  @Test func `If mirrors alternate, the rest comes from the mirror of the existing bytes`()
    async throws
  {
    let resources = [
      FaultScript.Resource.redirecting("/start", to: "/a"),
      Self.resource("/a", seed: Self.a, Self.stalling), Self.resource("/b", seed: Self.b),
    ]
    try await DownloadFixture.with(resources) { fixture in
      let request = try fixture.request("/start", as: "z") { $0.connections = 1 }
      try await fixture.interrupt(request, at: Self.held)
      fixture.server.setFaults("/a", [])
      fixture.server.update("/start") { $0.redirect = .init(location: "/b") }
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole("z", seed: Self.a, length: Self.length, outcome)
      #expect(outcome.result.reused >= Self.held)
    }
  }

  @Test func `With a derived name, another address gets the next number, and the part file stays`()
    async throws
  {
    let resources = [
      Self.resource("/p/z", seed: Self.a, Self.stalling), Self.resource("/q/z", seed: Self.b),
    ]
    try await DownloadFixture.with(resources) { fixture in
      try await fixture.interrupt(try fixture.request("/p/z") { $0.connections = 1 }, at: Self.held)
      let outcome = try await fixture.finish(try fixture.request("/q/z"))
      try fixture.expectWhole("z (1)", seed: Self.b, length: Self.length, outcome)
      fixture.server.setFaults("/p/z", [])
      let first = try await fixture.finish(try fixture.request("/p/z"))
      try fixture.expectWhole("z", seed: Self.a, length: Self.length, first)
      #expect(first.result.reused >= Self.held)
      let reasons = outcome.events.compactMap { kind -> String? in
        if case .target(_, let reason) = kind { reason } else { nil }
      }
      #expect(reasons == ["another address has an unfinished download of the name z"])
    }
  }

  @Test(arguments: [false, true])
  func `A derived name takes up the part of another address that may be of the same file`(
    hasDigest: Bool
  ) async throws {
    let resources = [
      Self.resource("/p/z", seed: Self.a, Self.stalling), Self.resource("/q/z", seed: Self.a),
    ]
    try await DownloadFixture.with(resources) { fixture in
      try await fixture.interrupt(try fixture.request("/p/z") { $0.connections = 1 }, at: Self.held)
      let request = try fixture.request("/q/z") {
        if hasDigest {
          $0.checksums = rightChecksums(seed: Self.a, length: Int64(Self.length))
        } else {
          $0.resumesFromOtherURL = true
        }
      }
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole("z", seed: Self.a, length: Self.length, outcome)
      #expect(outcome.result.reused > 0)
      #expect(try fixture.names() == ["z"])
    }
  }
}

/// Equal ends prove nothing, because disk images have long equal stretches.
@Suite(.timeLimit(.minutes(10))) struct ComparisonOffsetTests {
  @Test func `Another file with the same last bytes is detected as different`() async throws {
    let resource = FaultScript.Resource.stalling("/f", seed: 31).with {
      $0.entityTag = nil
      $0.lastModified = nil
    }
    try await DownloadFixture.with([resource]) { fixture in
      var request = try fixture.request("/f", as: "z") {
        $0.allowUnverified = true
        $0.connections = 4
      }
      try await fixture.interrupt(request, path: "/f")
      // Only the bytes before 64 KiB are of another file.
      fixture.server.setFaults(
        "/f", [Fault(.content(seed: 32), when: .init(offsetBelow: 64 << 10))])
      // What several answers bring without a validator may be of several versions.
      request.connections = 1
      let outcome = try await fixture.finish(request)
      #expect(outcome.restarts == 1)
      #expect(outcome.result.reused == 0)
      #expect(outcome.result.verified == .length)
    }
  }
}

import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// Hosts that refuse the credentials of many transfers.
@Suite(.timeLimit(.minutes(10))) struct RefusedCredentialTests {
  private static let count = 20

  /// Files that need a token.
  private static func files(_ token: String) -> [FaultScript.Resource] {
    (0..<count).map { number in
      FaultScript.Resource(
        "/d/\(number)", seed: UInt64(number), length: 100,
        faults: [Fault(.status(401), when: .init(withoutText: "Bearer \(token)"))])
    }
  }

  private func requests(
    _ fixture: DownloadFixture, _ directory: String = "/d", token: String = "old",
    _ change: (inout DownloadRequest) -> Void = { _ in }
  ) throws -> [DownloadRequest] {
    try (0..<Self.count).map { number in
      try fixture.request(
        "\(directory)/\(number)", as: "\(directory.dropFirst())-\(number)"
      ) { request in
        request.headers = [("Authorization", "Bearer \(token)")]
        change(&request)
      }
    }
  }

  /// A file that the token opens, and then those that it does not.
  private func allWithOpen(_ fixture: DownloadFixture) throws -> [DownloadRequest] {
    let first = try fixture.request("/open", as: "open") {
      $0.headers = [("Authorization", "Bearer old")]
    }
    return [first] + (try requests(fixture))
  }

  /// One at a time, so that the order is that of the list.
  private func one(_ configuration: inout TransferManager.Configuration) {
    configuration.maximumActive = 1
  }

  private func asked(_ fixture: DownloadFixture, _ prefix: String = "/d/") -> Int {
    fixture.server.snapshot.requests.count { $0.path.hasPrefix(prefix) }
  }

  @Test func `A dead token fails three files, and the others without a request`() async throws {
    try await DownloadFixture.with(Self.files("new")) { fixture in
      try await fixture.withManager(one) { manager in
        let outcomes = try await fixture.finishAll(try requests(fixture), with: manager)
        let codes = outcomes.map { $0.result.error?.code }
        #expect(codes.prefix(3) == [.unauthorized, .unauthorized, .unauthorized])
        #expect(codes.dropFirst(3).allSatisfy { $0 == .notTried }, "\(codes)")
        #expect(outcomes.allSatisfy { $0.result.error?.isTemporary == false })
        #expect(asked(fixture) == 3)
        let renewed = try await fixture.finishAll(
          try requests(fixture, token: "new"), with: manager)
        #expect(renewed.allSatisfy { $0.result.state == .completed })
      }
    }
  }

  @Test func `Refusals of one path hold nothing, as the token opens others`() async throws {
    let open = FaultScript.Resource("/open", seed: 1, length: 10)
    try await DownloadFixture.with(Self.files("never") + [open]) { fixture in
      try await fixture.withManager(one) { manager in
        let all = try allWithOpen(fixture)
        let outcomes = try await fixture.finishAll(all, with: manager)
        #expect(outcomes[0].result.state == .completed)
        #expect(outcomes.dropFirst().allSatisfy { $0.result.error?.code == .unauthorized })
        #expect(asked(fixture) == Self.count)
      }
    }
  }

  @Test func `A token that expires in the midst is found out by a file that it opened`()
    async throws
  {
    let open = FaultScript.Resource(
      "/open", seed: 1, length: 10, faults: [Fault(.status(401), when: .init(skip: 1))])
    try await DownloadFixture.with(Self.files("never") + [open]) { fixture in
      try await fixture.withManager(one) { manager in
        let all = try allWithOpen(fixture)
        let outcomes = try await fixture.finishAll(all, with: manager)
        #expect(outcomes[0].result.state == .completed)
        #expect(outcomes.count { $0.result.error?.code == .notTried } == Self.count - 3)
        #expect(asked(fixture, "/open") == 2 && asked(fixture) == 3)
      }
    }
  }

  @Test func `One that repeats is asked for at each of its times`() async throws {
    try await DownloadFixture.with(Self.files("new")) { fixture in
      try await fixture.withManager(one) { manager in
        let all = try requests(fixture)
        _ = try await fixture.finishAll(all, with: manager)
        #expect(asked(fixture) == 3)
        var request = TransferRequest(.download(all[Self.count - 1]))
        request.repetition = .every(.seconds(3600))
        _ = try await manager.add(request)
        try await until { asked(fixture) == 4 }
      }
    }
  }

  @Test func `Files without a credential are each asked for`() async throws {
    try await DownloadFixture.with(Self.files("new")) { fixture in
      try await fixture.withManager(one) { manager in
        let all = try requests(fixture) { $0.headers = [] }
        let outcomes = try await fixture.finishAll(all, with: manager)
        #expect(outcomes.allSatisfy { $0.result.error?.code == .unauthorized })
      }
    }
  }

  @Test func `All wait for others, also the first ones, and go at once with them`() async throws {
    try await DownloadFixture.with(Self.files("new")) { fixture in
      try await fixture.withManager {
        one(&$0)
        $0.waitsForCredentials = true
      } _: { manager in
        let transfers = try await manager.add(try requests(fixture))
        try await until {
          await manager.summaries(of: .filter { $0.waitReason == .credentialsRefused }).count
            == Self.count
        }
        #expect(asked(fixture) == 3)
        let waiting: TransferSelection = .filter { $0.waitReason == .credentialsRefused }
        let report = try await manager.set(waiting) {
          $0.download?.headers = [("Authorization", "Bearer new")]
        }
        #expect(report.refused.isEmpty)
        await manager.waitUntilEmpty()
        let ended = await manager.summaries(of: .ids(transfers.map(\.id)))
        #expect(ended.allSatisfy { $0.state == .completed })
      }
    }
  }

  @Test func `One that is refused alone fails for good, also if the token dies later`()
    async throws
  {
    let (open, closed) = (
      FaultScript.Resource("/open", seed: 1, length: 10),
      FaultScript.Resource("/closed", seed: 2, length: 10, faults: [Fault(.status(401))])
    )
    try await DownloadFixture.with(Self.files("new") + [open, closed]) { fixture in
      try await fixture.withManager {
        one(&$0)
        $0.waitsForCredentials = true
      } _: { manager in
        let first = try ["/closed", "/open"].map { path in
          try fixture.request(path, as: String(path.dropFirst())) {
            $0.headers = [("Authorization", "Bearer old")]
          }
        }
        let outcomes = try await fixture.finishAll(first, with: manager)
        #expect(outcomes.map(\.result.state) == [.failed, .completed])
        fixture.server.setFaults("/open", [Fault(.status(401))])
        _ = try await manager.add(try requests(fixture))
        let waiting: TransferSelection = .filter { $0.waitReason == .credentialsRefused }
        try await until { await manager.summaries(of: waiting).count == Self.count }
        #expect(await manager.summaries(of: .filter { $0.state == .failed }).count == 1)
        #expect(asked(fixture, "/closed") == 1)
      }
    }
  }

  @Test func `A retry tries the same token again`() async throws {
    try await DownloadFixture.with(Self.files("old")) { fixture in
      for number in 0..<Self.count {
        fixture.server.setFaults("/d/\(number)", [Fault(.status(401))])
      }
      try await fixture.withManager(one) { manager in
        let transfers = try await manager.add(try requests(fixture))
        await manager.waitUntilEmpty()
        for number in 0..<Self.count { fixture.server.setFaults("/d/\(number)", []) }
        _ = try await manager.retry(.all)
        for transfer in transfers { #expect(try await transfer.result.state == .completed) }
      }
    }
  }

  @Test func `A token that is renewed in its file helps what runs`() async throws {
    let token = NIOLockedValueBox("Bearer old")
    try await DownloadFixture.with(Self.files("new")) { fixture in
      try await fixture.withManager {
        one(&$0)
        $0.bearerField = { (path) throws(TransferError) in
          #expect(path == "/token")
          return token.withLockedValue { $0 }
        }
        $0.waitsForCredentials = true
      } _: { manager in
        let all = try requests(fixture) { $0.bearerFile = "/token" }
        let transfers = try await manager.add(all)
        try await until {
          await manager.summaries(of: .filter { $0.waitReason == .credentialsRefused }).count
            == Self.count
        }
        token.withLockedValue { $0 = "Bearer new" }
        await manager.waitUntilEmpty()
        let ended = await manager.summaries(of: .ids(transfers.map(\.id)))
        #expect(ended.allSatisfy { $0.state == .completed })
      }
    }
  }

  @Test func `A token that is renewed while a request is under way is sent at once`() async throws {
    let reads = NIOLockedValueBox(0)
    try await DownloadFixture.with(Self.files("new")) { fixture in
      try await fixture.withManager {
        $0.bearerField = { (_) throws(TransferError) in
          reads.withLockedValue { reads in
            reads += 1
            return reads == 1 ? "Bearer old" : "Bearer new"
          }
        }
      } _: { manager in
        let request = try #require(
          try requests(fixture) { $0.bearerFile = "/token" }.first)
        let outcome = try await fixture.finish(request, with: manager)
        #expect(outcome.result.state == .completed)
        #expect(asked(fixture) == 2)
      }
    }
  }

  @Test(arguments: [true, false])
  func `A token that has expired is waited for, for a minute`(isRenewed: Bool) async throws {
    let (clock, token) = (ManualClock(), NIOLockedValueBox("Bearer old"))
    let open = FaultScript.Resource("/open", length: 100)
    try await DownloadFixture.with(Self.files("new") + [open]) { fixture in
      let (manager, end) = try fixture.manager(clock: clock) {
        $0.bearerField = { (_) throws(TransferError) in token.withLockedValue { $0 } }
      }
      let requests = try ["/open", "/d/1"].map { path in
        try fixture.request(path, as: String(path.dropFirst().filter { $0 != "/" })) {
          $0.headers = [("Authorization", "Bearer old")]
          $0.bearerFile = "/token"
        }
      }
      #expect(try await manager.add(requests[0]).result.state == .completed)
      let transfer = try await manager.add(requests[1])
      for look in 1...(isRenewed ? 1 : 30) {
        try await until { clock.wakeUps.contains(.seconds(2 * look)) }
        if isRenewed { token.withLockedValue { $0 = "Bearer new" } }
        clock.advance(by: .seconds(2))
      }
      if isRenewed {
        #expect(try await transfer.result.state == .completed)
      } else {
        let error = await #expect(throws: TransferError.self) { try await transfer.result }
        #expect(error?.code == .unauthorized)
      }
      await end()
    }
  }

  @Test func `A file that cannot be read leaves the last token, and a client's is not read`()
    async throws
  {
    try await DownloadFixture.with(Self.files("old")) { fixture in
      try await fixture.withManager {
        $0.bearerField = { (_) throws(TransferError) in
          throw TransferError(.sourceUnreadable, "others can read it")
        }
      } _: { manager in
        let request = try #require(try requests(fixture) { $0.bearerFile = "/token" }.first)
        #expect(try await fixture.finish(request, with: manager).result.state == .completed)
      }
      try await fixture.withManager {
        $0.bearerField = { (_) throws(TransferError) in
          Issue.record("it was read")
          return "Bearer secret"
        }
      } _: { manager in
        let directory = fixture.path("")
        let request = try #require(
          try requests(fixture) {
            ($0.bearerFile, $0.roots, $0.ifExists) = ("/token", [directory], .rename)
          }.first)
        #expect(try await fixture.finish(request, with: manager).result.state == .completed)
      }
    }
  }
}

import Foundation
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// What holds for uploads by any protocol, through the real client, judged by what the server has.
/// A new protocol is one more case of `UploadMethod`.
@Suite(.timeLimit(.minutes(10))) struct UploadConformanceTests {
  /// More than one request, where a server limits their length, and a part of which may resume.
  private static let length = 9 << 20
  private static let content = SeededContent(seed: 3).bytes(at: 0, count: length)

  @Test(arguments: UploadMethod.allCases, [0, 1, (5 << 20) - 1, 5 << 20, (6 << 20) + 1, length])
  func `A file of any length arrives, byte for byte, and nothing is left`(
    method: UploadMethod, length: Int
  ) async throws {
    let content = Array(Self.content.prefix(length))
    try await ConformanceRun.with(method, content) { run in
      let outcome = try #require(try await run.upload())
      #expect(outcome.result.state == .completed)
      #expect(outcome.result.bytes == Int64(length))
      #expect(run.hasOnly(content))
      #expect(try run.records == [])
    }
  }

  @Test(arguments: UploadMethod.allCases)
  func `A connection that is lost at any request costs an attempt, not the file`(
    method: UploadMethod
  ) async throws {
    try await everyRequest(of: method, fails: .cut(how: .reset, after: 0, in: .head))
  }

  @Test(arguments: UploadMethod.allCases)
  func `A server that is busy at any request gets the file later`(method: UploadMethod)
    async throws
  {
    try await everyRequest(of: method, fails: .retryLater(status: 503, seconds: 0))
  }

  /// Uploads once for each request that an undisturbed upload makes, and lets that one fail.
  private func everyRequest(of method: UploadMethod, fails failure: Fault.Action) async throws {
    let count = try await ConformanceRun.with(method, Self.content) { run in
      _ = try await run.upload()
      return run.methods.count
    }
    for number in 1...count {
      let fault = Fault(failure, when: .request(number))
      try await ConformanceRun.with(method, Self.content, fault) { run in
        let outcome = try #require(try await run.upload())
        let place = "\(method), request \(number): \(run.methods)"
        #expect(outcome.result.state == .completed, "\(place): \(outcome.result)")
        #expect(run.hasOnly(Self.content), "\(place)")
      }
    }
  }

  @Test(arguments: UploadMethod.allCases)
  func `An upload that is interrupted while the bytes go out ends in the next run`(
    method: UploadMethod
  ) async throws {
    let held = Fault(.stallBeforeHead, when: .init(method: method.sendingMethod, times: 1))
    try await ConformanceRun.with(method, Self.content, held) { run in
      let server = run.fixture.server
      let first = try await run.upload(interruption: { try await server.waitForHeld("/up/") })
      #expect(first == nil)
      let second = try #require(try await run.upload())
      #expect(second.result.state == .completed)
      #expect(run.hasOnly(Self.content))
      #expect(try run.records == [])
    }
  }

  @Test(arguments: UploadMethod.allCases)
  func `A source that changes while it is sent never counts as sent`(method: UploadMethod)
    async throws
  {
    let held = Fault(.stallBeforeHead, when: .init(method: method.sendingMethod, times: 1))
    try await ConformanceRun.with(method, Self.content, held) { run in
      let growing = Task {
        try await run.fixture.server.waitForHeld("/up/")
        let file = try FileHandle(forWritingTo: URL(filePath: run.source))
        try file.seekToEnd()
        try file.write(contentsOf: Data([1]))
        try file.close()
        _ = run.fixture.server.release("/up/")
      }
      let outcome = try #require(try await run.upload())
      try await growing.value
      #expect(outcome.result.error?.code == .sourceChanged)
      // Only WebDAV gives the file its name after that.
      #expect(run.count == 0 || method != .webDAV)
    }
  }

  @Test(arguments: UploadMethod.allCases)
  func `A final refusal is reported, and nothing is left`(method: UploadMethod) async throws {
    let (put, patch) = (Fault.Match(method: "PUT"), Fault.Match(method: "PATCH"))
    let faults = (Fault(.status(507), when: put), Fault(.status(507), when: patch))
    try await ConformanceRun.with(method, Self.content, faults.0, faults.1) { run in
      let outcome = try #require(try await run.upload { $0.retry.retries = 0 })
      #expect(outcome.result.error?.status == 507)
      #expect(run.count == 0)
    }
  }

  @Test(arguments: UploadMethod.allCases.filter(\.canRequireAbsence))
  func `A file that must not be replaced stays`(method: UploadMethod) async throws {
    try await ConformanceRun.with(method, [1, 2, 3]) { run in
      _ = try await run.upload()
      try Data(Self.content).write(to: URL(filePath: run.source))
      let outcome = try #require(try await run.upload { $0.precondition = .absent })
      #expect(outcome.result.error?.code == .nameConflict)
      #expect(run.hasOnly([1, 2, 3]))
      let replaced = try #require(try await run.upload())
      #expect(replaced.result.state == .completed)
      #expect(run.hasOnly(Self.content))
    }
  }

  @Test(arguments: UploadMethod.allCases)
  func `A cancelled upload leaves nothing`(method: UploadMethod) async throws {
    let held = Fault(.stallBeforeHead, when: .init(method: method.sendingMethod))
    try await ConformanceRun.with(method, Self.content, held) { run in
      let request = try run.request()
      _ = try await run.fixture.queue { queue in
        let transfer = try await queue.manager.add(TransferRequest(.upload(request)))
        try await run.fixture.server.waitForHeld("/up/")
        try await transfer.cancel()
        #expect(await transfer.state == .cancelled)
      }
      #expect(run.count == 0 || !method.canTakeBack)
      #expect(run.methods.last == "DELETE" || !method.canTakeBack, "\(run.methods)")
    }
  }
}

import Foundation
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// A restart replaces the file that the transfer completed, and no other.
@Suite(.timeLimit(.minutes(10))) struct RestartedFileTests {
  @Test(arguments: DownloadRequest.IfExists.allCases)
  func `An unchanged file is replaced`(ifExists: DownloadRequest.IfExists) async throws {
    try await QueueFixture.with([.plain("a")]) { queue in
      let a = try await queue.manager.add(try Self.request(queue, ifExists))
      _ = try await a.result
      try await a.restart()
      let result = try await a.result
      #expect(result.path == queue.base.path("a") && result.fetched == result.bytes)
      #expect(try queue.base.names() == ["a"])
      try queue.expectWhole(a)
    }
  }

  @Test(arguments: [true, false])
  func `A file that the user changed or put there stays`(isOther: Bool) async throws {
    try await QueueFixture.with([.plain("a")]) { queue in
      let a = try await queue.manager.add(try Self.request(queue, .update))
      _ = try await a.result
      try Self.change(queue, isOther: isOther)
      try await a.restart()
      let result = try await a.result
      #expect(result.path == queue.base.path("a (1)"))
      #expect(try queue.base.contents("a") == Array(Self.text.utf8))
    }
  }

  @Test(arguments: [true, false])
  func `A damaged file of the same length and date is not taken for the new one`(isOther: Bool)
    async throws
  {
    try await QueueFixture.with([.plain("a")]) { queue in
      let a = try await queue.manager.add(try Self.request(queue, .update))
      let first = try await a.result
      let path = queue.base.path("a")
      let date = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as Any
      var damaged = try queue.base.contents("a")
      damaged[0] ^= 1
      if isOther { try FileManager.default.removeItem(atPath: path) }
      try Data(damaged).write(to: URL(filePath: path))
      try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
      try await a.restart()
      let result = try await a.result
      #expect(result.fetched == first.bytes)
      // Haul's own file, which nothing shows to be changed, is replaced.
      #expect(result.path == queue.base.path(isOther ? "a (1)" : "a"))
      #expect(try (queue.base.contents("a") == damaged) == isOther)
    }
  }

  @Test(arguments: [DownloadRequest.IfExists.fail, .update])
  func `Under an exact name it is a conflict`(ifExists: DownloadRequest.IfExists) async throws {
    try await QueueFixture.with([.plain("a")]) { queue in
      let request = try queue.request("a") { $0.ifExists = ifExists }
      let a = try await queue.manager.add(request)
      _ = try await a.result
      try Self.change(queue, isOther: true)
      try await a.restart()
      #expect(await refusal { _ = try await a.result }?.code == .nameConflict)
      #expect(try queue.base.contents("a") == Array(Self.text.utf8))
    }
  }

  @Test func `A file that is replaced on request may be another one`() async throws {
    try await QueueFixture.with([.plain("a")]) { queue in
      let a = try await queue.manager.add(try Self.request(queue, .overwrite))
      _ = try await a.result
      try Self.change(queue, isOther: true)
      try await a.restart()
      _ = try await a.result
      try queue.expectWhole(a)
    }
  }

  @Test func `A restart under another name leaves no part file`() async throws {
    try await QueueFixture.with([.held("a")]) { queue in
      let a = try await queue.manager.add(try Self.request(queue, .update))
      try await queue.hold(a)
      try await a.pause()
      try Self.change(queue, isOther: true)
      queue.release(a)
      try await a.restart()
      let result = try await a.result
      #expect(result.path == queue.base.path("a (1)"))
      #expect(try queue.base.names() == ["a", "a (1)"])
      #expect(try queue.base.contents("a") == Array(Self.text.utf8))
    }
  }

  private static let text = "mine"

  private static func request(
    _ queue: QueueFixture, _ ifExists: DownloadRequest.IfExists
  ) throws -> TransferRequest {
    try queue.request("a") {
      $0.destination = .directory(queue.base.directory)
      $0.ifExists = ifExists
    }
  }

  private static func change(_ queue: QueueFixture, isOther: Bool) throws {
    let path = queue.base.path("a")
    if isOther { try? FileManager.default.removeItem(atPath: path) }
    try text.write(toFile: path, atomically: isOther, encoding: .utf8)
  }
}

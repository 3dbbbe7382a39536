import HaulCore
import HaulKit
import NIOConcurrencyHelpers
import Testing

/// An identifier that is added again.
@Suite(.timeLimit(.minutes(10))) struct KnownIdentifierTests {
  private func request(_ input: String) -> TransferRequest {
    var request = TransferRequest.step("say", input: input)
    request.identifier = "one"
    return request
  }

  /// - Returns: the input of the step in its last run.
  private func input(
    afterAdding again: (TransferManager, Transfer) async throws -> Void
  ) async throws -> String? {
    var configuration = TransferManager.Configuration()
    configuration.isSuspended = true
    return try await withTransferManager(configuration) { manager in
      let said = NIOLockedValueBox<String?>(nil)
      manager.register(step: "say") { context in
        said.withLockedValue { $0 = context.input }
      }
      let first = try await manager.add(request("old"))
      try await again(manager, first)
      await manager.unsuspend()
      _ = try await first.result
      return said.withLockedValue { $0 }
    }
  }

  @Test func `A known identifier keeps its old request by default`() async throws {
    let said = try await input { manager, first in
      let again = try await manager.add(request("new"))
      #expect(again == first)
    }
    #expect(said == "old")
  }

  @Test func `A known identifier gets the new request if updating is requested`() async throws {
    let said = try await input { manager, first in
      let again = try await manager.add(request("new"), ifKnown: .update)
      #expect(again == first)
    }
    #expect(said == "new")
  }

  @Test func `A call with a known identifier adds nothing if refusing is requested`() async throws {
    let said = try await input { manager, first in
      let more = [TransferRequest.step("say", input: "other"), request("new")]
      let refused = await refusal { _ = try await manager.add(more, ifKnown: .refuse) }
      #expect(refused?.code == .inUse)
      #expect(await manager.summaries().map(\.id) == [first.id])
    }
    #expect(said == "old")
  }

  @Test func `A known identifier is found for the same request only if that is requested`()
    async throws
  {
    let said = try await input { manager, first in
      let again = try await manager.add(request("old"), ifKnown: .match)
      #expect(again == first)
      let refused = await refusal { _ = try await manager.add(request("new"), ifKnown: .match) }
      #expect(refused?.code == .inUse)
      #expect(await manager.summaries().map(\.id) == [first.id])
    }
    #expect(said == "old")
  }

  private static let choices: [TransferRequest.IfKnown] = [.keep, .update, .match, .refuse]

  /// A download with the identifier; with roots, a client over TCP adds it.
  private func download(roots: [String]? = nil) throws -> TransferRequest {
    var download = DownloadRequest(
      url: try ResourceURL("http://host.example/f"), to: .file("/nowhere/f"))
    download.roots = roots
    var request = TransferRequest(.download(download))
    request.identifier = "one"
    return request
  }

  @Test(arguments: choices)
  func `What a client over TCP has named is not taken for its owner's, nor updated by it`(
    ifKnown: TransferRequest.IfKnown
  ) async throws {
    var configuration = TransferManager.Configuration()
    configuration.isSuspended = true
    try await withTransferManager(configuration) { manager in
      let request = try download(roots: ["/nowhere"])
      let first = try await manager.add(request)
      let own = try download()
      let refused = await refusal { _ = try await manager.add(own, ifKnown: ifKnown) }
      #expect(refused?.code == .inUse)
      #expect(try await manager.coordinator.views(of: [first.id]).first?.request == request)
      // The control: the client finds its own.
      guard ifKnown != .refuse else { return }
      #expect(try await manager.add(request, ifKnown: ifKnown) == first)
    }
  }

  @Test func `A client over TCP learns nothing of its owner's request by asking for a match`()
    async throws
  {
    var configuration = TransferManager.Configuration()
    configuration.isSuspended = true
    try await withTransferManager(configuration) { manager in
      var own = try download()
      own.headers = ["X-Pin": "4711"]
      _ = try await manager.add(own)
      var errors: [TransferError?] = []
      for pin in ["4711", "1111"] {
        var request = try download(roots: ["/nowhere"])
        request.headers = ["X-Pin": pin]
        errors.append(await refusal { _ = try await manager.add(request, ifKnown: .match) })
      }
      #expect(errors[0]?.code == .inUse)
      #expect(errors[0] == errors[1])
    }
  }

  @Test func `A running transfer is not updated, and the call is refused`() async throws {
    try await withTransferManager { manager in
      let (began, goOn) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
      manager.register(step: "say") { _ in
        began.continuation.yield()
        for await _ in goOn.stream { break }
      }
      let first = try await manager.add(request("old"))
      for await _ in began.stream { break }
      let refused = await refusal { _ = try await manager.add(request("new"), ifKnown: .update) }
      #expect(refused?.refusal == .isRunning)
      #expect(try await manager.add(request("old"), ifKnown: .update) == first)
      goOn.continuation.yield()
      #expect(try await first.result.state == .completed)
    }
  }
}

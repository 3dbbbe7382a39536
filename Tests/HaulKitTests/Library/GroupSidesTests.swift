import HaulCore
import HaulKit
import Testing

/// A group of the owner and clients over TCP.
@Suite(.timeLimit(.minutes(10))) struct GroupSidesTests {
  /// - Parameter isOfClient: whether a client over TCP adds it.
  private func request(
    _ name: String, isOfClient: Bool, in group: String = "album"
  ) throws -> TransferRequest {
    var download = DownloadRequest(
      url: try ResourceURL("http://host.example/\(name)"), to: .file("/nowhere/\(name)"))
    if isOfClient { download.roots = ["/nowhere"] }
    var request = TransferRequest(.download(download))
    request.group = group
    return request
  }

  private func withSuspended(_ body: @Sendable (TransferManager) async throws -> Void) async throws
  {
    var configuration = TransferManager.Configuration()
    configuration.isSuspended = true
    try await withTransferManager(configuration, body)
  }

  @Test(arguments: ["album", "é"]) func `A client over TCP does not join a group of its owner`(
    group: String
  ) async throws {
    try await withSuspended { manager in
      let own = try await manager.add(try request("a", isOfClient: false, in: group))
      let decomposed = group == "album" ? group : "e\u{301}"
      for name in [group, decomposed] {
        let more = [
          try request("b", isOfClient: true, in: "mine"),
          try request("c", isOfClient: true, in: name),
        ]
        let refused = await refusal { _ = try await manager.add(more) }
        #expect(refused?.code == .inUse)
      }
      #expect(await manager.summaries().map(\.id) == [own.id], "nothing of the call was added")
      _ = try await manager.add(try request("d", isOfClient: false, in: group))
    }
  }

  @Test func `A transfer of a client is not moved to a group of its owner, nor back`() async throws
  {
    try await withSuspended { manager in
      let own = try await manager.add(try request("a", isOfClient: false))
      let client = try await manager.add(try request("b", isOfClient: true, in: "mine"))
      #expect(await refusal { try await client.set { $0.group = "album" } }?.code == .inUse)
      try await client.set { $0.group = "theirs" }
      // Once its owner has joined, a group is no longer the client's.
      try await own.set { $0.group = "theirs" }
      try await client.set { $0.group = nil }
      #expect(await refusal { try await client.set { $0.group = "theirs" } }?.code == .inUse)
      #expect(await manager.summaries(of: .group("theirs")).map(\.id) == [own.id])
    }
  }

  @Test func `The owner may join a group of clients, who may then add no more to it`() async throws
  {
    try await withSuspended { manager in
      for name in ["a", "b", "c"] {
        _ = try await manager.add(try request(name, isOfClient: true))
      }
      let own = try await manager.add(try request("d", isOfClient: false))
      let more = try request("e", isOfClient: true)
      #expect(await refusal { _ = try await manager.add(more) }?.code == .inUse)
      // Once it has left, the group is theirs again.
      _ = try await manager.remove(.ids([own.id]))
      _ = try await manager.add(more)
    }
  }
}

import HaulCore
import HaulKit
import HaulTestSupport
import Testing

/// What an event says of its transfer, and when it may come.
@Suite(.timeLimit(.minutes(1))) struct EventIdentityTests {
  private static func request(_ name: String) throws -> TransferRequest {
    var request = TransferRequest.download(
      try ResourceURL("http://host/\(name)"), to: .directory("/nowhere"))
    (request.identifier, request.group) = (name, "films")
    return request
  }

  @Test func `Every event carries address, identifier and group: also of what waits or is removed`()
    async throws
  {
    let manager = try TransferManager()
    let events = manager.events()
    await manager.suspend()
    let first = try await manager.add(try Self.request("first"))
    var second = try Self.request("second")
    second.after = [.transfer(first.id)]
    let other = try await manager.add(second)
    #expect(other.identifier == "second" && other.group == "films")
    try await first.cancel()
    try await other.remove()
    try await first.remove()
    await manager.shutdown()
    var kinds: Set<String> = []
    for await event in events {
      let name = event.id == first.id ? "first" : "second"
      #expect(event.url == (try ResourceURL("http://host/\(name)")), "\(event.kind)")
      #expect(event.identifier == name && event.group == "films", "\(event.kind)")
      kinds.insert("\(event.kind)".prefix { $0.isLetter }.description)
    }
    #expect(kinds.isSuperset(of: ["added", "waiting", "finished", "removed"]), "\(kinds)")
  }

  @Test func `Rows carry the identifier`() async throws {
    let manager = try TransferManager()
    await manager.suspend()
    let list = await TransferList(manager)
    let added = try await manager.add(try Self.request("a"))
    try await until { await list[added.id]?.identifier == "a" }
    #expect(await list[added.id]?.group == "films")
    await manager.shutdown()
  }

  @MainActor
  @Test func `On one actor the handle is there before the first event`() async throws {
    let manager = try TransferManager()
    await manager.suspend()
    let known = Known()
    let events = manager.events()
    let reader = Task { @MainActor in
      var strangers = 0
      for await event in events where !known.ids.contains(event.id) { strangers += 1 }
      return strangers
    }
    for number in 0..<200 {
      known.ids.insert(try await manager.add(try Self.request("\(number)")).id)
    }
    await manager.shutdown()
    #expect(await reader.value == 0)
  }

  @MainActor private final class Known {
    var ids: Set<TransferID> = []
  }

  @Test func `An add that is refused keeps back no event of others`() async throws {
    let manager = try TransferManager()
    await manager.suspend()
    let transfer = try await manager.add(try Self.request("a"))
    let events = manager.events()
    var behind = try Self.request("b")
    behind.after = [.identifier("unknown")]
    await #expect(throws: TransferError.self) { try await manager.add(behind) }
    try await transfer.pause()
    for await event in events {
      #expect(event.id == transfer.id)
      break
    }
    await manager.shutdown()
  }
}

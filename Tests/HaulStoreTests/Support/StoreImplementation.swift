import Testing
import HaulCore
import HaulKit
import HaulStore

/// The implementations of the port.
enum StoreImplementation: String, CaseIterable, CustomTestStringConvertible, Sendable {
  case memory, database

  var testDescription: String { rawValue }

  /// The number of events that its log keeps.
  var eventLogLimit: Int { self == .memory ? 10_000 : 500 }

  /// Runs `body` with an empty store.
  /// - Parameter keyLimit: how many keys of calls it remembers.
  func use(keyLimit: Int = 10_000, _ body: (any Store) async throws -> Void) async throws {
    switch self {
    case .memory: try await body(MemoryStore(keyLimit: keyLimit))
    case .database:
      let scratch = Scratch()
      let store = try await scratch.open {
        ($0.eventLogLimit, $0.keyLimit) = (eventLogLimit, keyLimit)
      }
      try await body(store)
      await store.close()
    }
  }

  /// Runs `body` with a store of so many members, and these.
  func use(with count: Int, _ body: (any Store, [TransferRecord]) async throws -> Void) async throws
  {
    try await use { store in
      let added = try records(count)
      try await store.commit(adding(added))
      try await body(store, added)
    }
  }
}

extension Store {
  /// Everything in it, to compare.
  func contents() async throws -> Contents {
    let queue = try await open()
    return Contents(
      members: queue.members, records: try await records(queue.members.map(\.id)),
      lastEvent: queue.lastEvent,
      events: try await events(from: max(queue.lastEvent, 1), atMost: 10) ?? [])
  }
}

struct Contents: Equatable {
  var members: [QueuedMember]
  var records: [TransferRecord]
  var lastEvent: Int
  var events: [StoredEvent]
}

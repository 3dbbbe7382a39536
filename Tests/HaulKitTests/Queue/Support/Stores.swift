import FoundationEssentials
import HaulCore
import HaulKit
import HaulStore
import HaulTesting

/// The kind of store of a list.
enum StoreKind: CaseIterable, Sendable {
  case memory, database
}

/// One stored list, opened again by each manager.
struct Stores: Sendable {
  private let memory = MemoryStore()
  private let directory: String?

  init(_ kind: StoreKind) { directory = kind == .database ? ScratchFixture.make() : nil }

  func open() async throws -> any Store {
    guard let directory else { return memory }
    return try await SQLiteStore(directory: directory, clock: SystemClock())
  }

  func remove() {
    if let directory { try? FileManager.default.removeItem(atPath: directory) }
  }
}

import GRDB
import HaulCore
import NIOConcurrencyHelpers

/// In which row of `members` each id is. Known from the first call on, and as the last commit left it.
final class RowNumbers: Sendable {
  private let box = NIOLockedValueBox<[TransferID: UInt32]?>(nil)

  /// Nil when nobody has this id.
  func number(of id: TransferID) -> Int64? {
    box.withLockedValue { ($0?[id]).map(Int64.init) }
  }

  /// The rows of those that are known, in their order.
  func numbers(of ids: [TransferID]) -> [(id: TransferID, number: Int64)] {
    box.withLockedValue { numbers in
      ids.compactMap { id in (numbers?[id]).map { (id, Int64($0)) } }
    }
  }

  /// Reads them, unless that was done. Whoever commits has done it before.
  func load(_ db: Database) throws {
    try box.withLockedValue { numbers in
      guard numbers == nil else { return }
      var found: [TransferID: UInt32] = [:]
      found.reserveCapacity(try Int.fetchOne(db, sql: "SELECT count(*) FROM members") ?? 0)
      let rows = try Row.fetchCursor(db, sql: "SELECT seq, id FROM members")
      while let row = try rows.next() {
        let id = try TransferID(stored: row.decode(Int64.self, atIndex: 1))
        guard
          found.updateValue(try Self.number(row.decode(Int64.self, atIndex: 0)), forKey: id) == nil
        else { throw TransferError.unreadable("two transfers of one id") }
      }
      numbers = found
    }
  }

  /// Notes what a commit has changed.
  func note(added: [TransferID: UInt32], removed: [TransferID]) {
    box.withLockedValue { numbers in
      numbers?.merge(added) { $1 }
      for id in removed { numbers?[id] = nil }
    }
  }

  static func number(_ sequence: Int64) throws(TransferError) -> UInt32 {
    guard let number = UInt32(exactly: sequence) else { throw .unreadable("a row") }
    return number
  }
}

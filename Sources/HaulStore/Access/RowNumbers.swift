import GRDB
import HaulCore
import NIOConcurrencyHelpers

/// The row of each id in `members`, read once and updated with each commit.
final class RowNumbers: Sendable {
  private let box = NIOLockedValueBox<IDIndex?>(nil)
  /// The largest row number that was used; nil until it is needed.
  private let lastNumber = NIOLockedValueBox<Int64?>(nil)

  /// Nil for an unknown id.
  func number(of id: TransferID) -> Int64? {
    box.withLockedValue { ($0?[id]).map(Int64.init) }
  }

  /// The rows of the known ids, in row order.
  func numbers(of ids: [TransferID]) -> [(id: TransferID, number: Int64)] {
    box.withLockedValue { numbers in
      ids.compactMap { id in (numbers?[id]).map { (id, Int64($0)) } }
    }
  }

  /// Reads the rows once. Every commit calls it first.
  func load(_ db: Database) throws {
    try box.withLockedValue { numbers in
      guard numbers == nil else { return }
      let rows = try Row.fetchCursor(db, sql: "SELECT seq, id FROM members")
      var found = IDIndex()
      while let row = try rows.next() {
        let number = try Self.number(row.decode(Int64.self, atIndex: 0))
        guard found.set(try TransferID(stored: row.decode(Int64.self, atIndex: 1)), to: number)
        else { throw TransferError.unreadable("two transfers with one id") }
      }
      numbers = found
    }
  }

  /// The largest row number that was used, or 0. Only changes in the order of their commits call
  /// it.
  func last(_ db: Database) throws -> Int64 {
    try lastNumber.withLockedValue { last in
      if let last { return last }
      let found = try Int64.fetchOne(db, sql: "SELECT max(seq) FROM members") ?? 0
      last = found
      return found
    }
  }

  /// Calls `body`, which reads every member and adds its row to the table. The table is nil if the
  /// rows are already loaded.
  func loading<Result>(_ body: (inout IDIndex?) throws -> Result) throws -> Result {
    var known: IDIndex?
    if box.withLockedValue({ $0 != nil }) { return try body(&known) }
    return try box.withLockedValue { numbers in
      var found = numbers == nil ? IDIndex() : nil
      let result = try body(&found)
      numbers = numbers ?? found
      return result
    }
  }

  /// Updates the rows after a commit.
  func note(added: [(id: TransferID, number: UInt32)], removed: [TransferID]) {
    if let number = added.last?.number { lastNumber.withLockedValue { $0 = Int64(number) } }
    box.withLockedValue { numbers in
      for (id, number) in added { numbers?.set(id, to: number) }
      for id in removed { numbers?.remove(id) }
    }
  }

  static func number(_ sequence: Int64) throws(TransferError) -> UInt32 {
    guard let number = UInt32(exactly: sequence) else { throw .unreadable("a row") }
    return number
  }
}

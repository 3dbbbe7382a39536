import FoundationEssentials
import GRDB

/// Text in a column. Text that contains U+0000 is stored as bytes, because GRDB would cut it there.
enum StoredText {
  static func value(_ text: String?) -> DatabaseValue {
    guard let text else { return .null }
    return hasNUL(text) ? Data(text.utf8).databaseValue : text.databaseValue
  }

  /// A search through the view of the text takes several times as long.
  static func hasNUL(_ text: String) -> Bool {
    text.utf8.withContiguousStorageIfAvailable { $0.contains(0) } ?? text.utf8.contains(0)
  }

  static func text(_ row: Row, _ index: Int) throws -> String? {
    try text(row.decode(DatabaseValue.self, atIndex: index))
  }

  static func text(_ value: DatabaseValue) throws -> String? {
    switch value.storage {
    case .null: return nil
    case .string(let text): return text
    case .blob(let bytes): return String(decoding: bytes, as: UTF8.self)
    case .int64, .double: throw RowMismatch()
    }
  }

  /// A number where text should be.
  struct RowMismatch: Error {}
}

extension StatementArguments {
  /// Replaces `init(_:)`, which uses a key path for each value and takes two thirds of an update's
  /// time.
  init(of values: [DatabaseValue]) {
    self.init(values.map { $0 as (any DatabaseValueConvertible)? })
  }
}

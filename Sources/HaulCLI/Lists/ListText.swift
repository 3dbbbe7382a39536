/// The text of a list. It is read piece by piece, and more than once.
package struct ListText: Sendable {
  /// So many bytes from an offset; fewer only at the end.
  let read: @Sendable (_ offset: Int64, _ count: Int) throws(UsageError) -> [UInt8]
  /// Which server has it; nil for a file of this machine.
  let server: ListServer?

  package init(_ text: String) {
    let bytes = Array(text.utf8)
    server = nil
    read = { (offset, count) throws(UsageError) in
      Array(bytes.dropFirst(Int(offset)).prefix(count))
    }
  }

  init(
    _ read: @escaping @Sendable (Int64, Int) throws(UsageError) -> [UInt8],
    of server: ListServer? = nil
  ) {
    (self.read, self.server) = (read, server)
  }
}

/// Reads the entries of a list piece by piece. A copy of it reads the same again.
struct ListReader: Sendable {
  /// For messages.
  let name: String
  private let option: String
  private let text: ListText
  private var table: InputTable
  private var offset: Int64 = 0
  private(set) var isAtEnd = false

  /// Some hundred lines: one that is looked up is read with its piece.
  private static let pieceSize = 16 << 10
  private static let longest = 16 << 20

  /// - Throws: for a file that cannot be opened, and for options that do not fit it.
  init(
    _ file: String, _ options: ContentOptions, _ sources: CommandSources
  ) throws(UsageError) {
    let path = ListServer.path(of: file)
    (name, option) = (file == "-" ? "standard input" : path, "-i \(path)")
    text = try sources.list(at: file, named: option)
    let format = options.inputFormat ?? InputTable.Format(of: path)
    guard format != .list || options.columns.isEmpty else {
      throw UsageError("\(name): a list of lines has no columns; say what it is: --input-format")
    }
    guard options.columns[.size] == nil else {
      throw UsageError("--columns: size is a column for 'haul split'")
    }
    table = InputTable(as: format, columns: options.columns)
  }

  /// Which server has the list; nil for a file of this machine.
  var server: ListServer? { text.server }

  /// The columns of the table up to here that no meaning is known of.
  var otherColumns: [String] { table.others }

  /// The entries of the next piece: none if it has only comments.
  mutating func next() throws(UsageError) -> [InputList.Entry] {
    var size = Self.pieceSize
    while true {
      let isFirst = offset == 0
      var piece = try UsageError.checked(text.read(offset, size), at: option)[...]
      isAtEnd = piece.count < size
      if isFirst, piece.starts(with: [0xEF, 0xBB, 0xBF]) {  // a byte order mark
        piece = piece.dropFirst(3)
        offset = 3
      }
      let length = isAtEnd ? piece.count : table.wholeLength(of: piece)
      guard let lines = String(validating: piece.prefix(length), as: UTF8.self) else {
        throw UsageError(
          piece.starts(with: [0x1F, 0x8B])
            ? "\(option): it is compressed (gzip): unpack it; --decode does so with what a server "
              + "sends compressed" : "\(option): the file is not UTF-8 text")
      }
      let used = try UsageError.checked(table.take(lines, isLast: isAtEnd), at: name)
      offset += Int64(used)
      guard used == 0, !isAtEnd else { return table.takeEntries() }
      // An entry is longer than the piece.
      size *= 2
      guard size <= Self.longest else {
        throw UsageError("\(name): line \(table.line): it is longer than \(Self.longest >> 20) MiB")
      }
    }
  }

}

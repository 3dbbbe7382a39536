import HaulCore

/// The addresses of a command line and of its lists, in this order. Lists may be longer than the
/// memory: they are read piece by piece, and a copy of a reader reads again what follows.
struct ItemReader: Sendable {
  private let urls: [String]
  /// What `-o` says, for the values of patterns.
  private let output: String?
  private let files: [String]
  private let options: ContentOptions
  private let isWorker: Bool
  private let sources: CommandSources
  private var store: CommandStore
  /// Whether what it reads goes to the queue of the daemon, where it may have a group.
  var isForQueue = true
  /// Those that were opened.
  private var lists: [ListReader] = []
  /// The index of the list that is being read.
  private var current = 0
  private var hasEntry = false
  /// What was read, and not taken yet.
  private var ready: [GetItem] = []
  /// The number of the last item that was read, from 1.
  private var lastRead = 0
  /// The pieces that were read: the number of the first item of each, and who reads it again.
  private var pieces: [(first: Int, reader: ListReader)] = []
  /// The last piece that an item was looked up in.
  private var found: (first: Int, items: [GetItem])?

  init(_ command: GetCommand, _ sources: CommandSources) throws(UsageError) {
    (urls, files, options) = (command.urls, command.content.inputFiles, command.content)
    (isWorker, self.sources) = (command.worker.worker, sources)
    output = command.destination.output
    store = CommandStore(command.s3, sources)
    for text in urls { ready.append(try item(at: text)) }
    lastRead = ready.count
    guard files.count(where: { $0 == "-" }) <= 1 else {
      throw UsageError("-i - is given twice, but standard input can be read only once")
    }
    let all = files + options.checksumFiles + command.credentials.files + command.requests.files
    guard all.count(where: { $0 == "-" }) <= 1 else {
      throw UsageError("two options name standard input (-), which can be read only once")
    }
    guard !files.isEmpty || options.columns.isEmpty && options.inputFormat == nil else {
      throw UsageError("--columns and --input-format are for a list: give it with -i")
    }
  }

  /// Whether nothing follows; false also if only comments do.
  var isAtEnd: Bool { ready.isEmpty && current == files.count }

  /// The same reader, after all items.
  var ended: ItemReader {
    var reader = self
    (reader.ready, reader.current) = ([], files.count)
    return reader
  }

  /// A note for each list with columns that are used for nothing, up to where it was read.
  /// - Parameter used: those of `-o`.
  func columnNotes(except used: Set<String> = []) -> [String] {
    lists.compactMap { list in
      let unused = list.otherColumns.filter { !used.contains($0) }
      guard !unused.isEmpty else { return nil }
      let shown = unused.prefix(Self.mostColumns).joined(separator: ", ")
      let rest = unused.count > Self.mostColumns ? " and others" : ""
      return "\(list.name): columns that are used for nothing: \(shown)\(rest)"
    }
  }

  private static let mostColumns = 20

  /// The next items, as many as are wanted; fewer only at the end.
  mutating func next(atMost count: Int) throws(UsageError) -> [GetItem] {
    var next = ready
    ready = []
    while next.count < count, current < files.count { try readPiece(to: &next) }
    if next.count > count {
      ready = Array(next[count...])
      next.removeLast(ready.count)
    }
    return next
  }

  /// All that follow.
  mutating func all() throws(UsageError) -> [GetItem] { try next(atMost: .max) }

  private mutating func readPiece(to items: inout [GetItem]) throws(UsageError) {
    if lists.count == current {
      lists.append(try ListReader(files[current], options, sources))
      hasEntry = false
    }
    pieces.append((lastRead + 1, lists[current]))
    let count = try Self.read(&lists[current], to: &items, in: &store)
    if !isForQueue, let entry = items.suffix(count).first(where: { $0.group != nil })?.listEntry {
      throw UsageError("\(entry): group is for the queue of the daemon: use 'haul add'")
    }
    lastRead += count
    hasEntry = hasEntry || count > 0
    if lists[current].isAtEnd {
      // A job may have more tasks than its lists have hosts.
      guard hasEntry || isWorker else {
        throw UsageError("\(lists[current].name): it contains no URL")
      }
      current += 1
    }
  }

  /// - Returns: how many were read.
  private static func read(
    _ list: inout ListReader, to items: inout [GetItem], in store: inout CommandStore
  ) throws(UsageError) -> Int {
    let (entries, name, server) = (try list.next(), list.name, list.server)
    for entry in entries { items.append(try GetItem(entry, of: name, server, in: &store)) }
    return entries.count
  }

  /// The item of an address of the command line.
  private mutating func item(at address: String) throws(UsageError) -> GetItem {
    var item = try GetItem(address, in: &store)
    guard let values = sources.expanded.values[Array(address.utf8)] else { return item }
    item.columns = Dictionary(uniqueKeysWithValues: zip(1..., values).map { ("\($0)", $1) })
    if let output, !PutPlan.isRemote(output) {
      let filled = AddressPattern.filled(output, with: values)
      if !filled.isByteEqual(output) { item.out = filled }
    }
    return item
  }

  /// An item that was read, by its number.
  mutating func item(_ number: Int) throws(UsageError) -> GetItem {
    if number <= urls.count { return try item(at: urls[number - 1]) }
    if let found, (found.first..<found.first + found.items.count).contains(number) {
      return found.items[number - found.first]
    }
    // A piece without items has the number of the one after it.
    var (low, high) = (0, pieces.count)
    while low < high {
      let middle = (low + high) / 2
      if pieces[middle].first > number { high = middle } else { low = middle + 1 }
    }
    var (piece, items) = (pieces[low - 1], [GetItem]())
    _ = try Self.read(&piece.reader, to: &items, in: &store)  // all of the piece
    found = (piece.first, items)
    return items[number - piece.first]
  }
}

/// Values by id, in order of arrival. A short list is searched, a long one has an index.
struct OrderedIDDictionary<Value: Sendable>: Sendable {
  private var entries: [(id: TransferID, value: Value)] = []
  private var table: IDIndex?
  private static var maximumSearched: Int { 8 }

  init() {}

  func index(of id: TransferID) -> Int? {
    guard let table else { return entries.firstIndex { $0.id == id } }
    return table[id].map(Int.init)
  }

  subscript(index: Int) -> Value {
    get { entries[index].value }
    _modify { yield &entries[index].value }
  }

  /// Adds a value with a new id.
  /// - Returns: its index.
  @discardableResult
  mutating func append(_ id: TransferID, _ value: Value) -> Int {
    let index = entries.count
    entries.append((id, value))
    if table != nil {
      table?.set(id, to: UInt32(index))
    } else if index == Self.maximumSearched {
      var new = IDIndex()
      for (index, entry) in entries.enumerated() { new.set(entry.id, to: UInt32(index)) }
      table = new
    }
    return index
  }
}

extension OrderedIDDictionary: RandomAccessCollection {
  var startIndex: Int { 0 }
  var endIndex: Int { entries.count }
}

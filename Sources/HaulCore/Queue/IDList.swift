/// Values by id, in order of arrival: few are searched, many get an index.
struct IDList<Value: Sendable>: Sendable {
  private var entries: [(id: TransferID, value: Value)] = []
  private var places: IDTable?
  private static var few: Int { 8 }

  init() {}

  func place(of id: TransferID) -> Int? {
    guard let places else { return entries.firstIndex { $0.id == id } }
    return places[id].map(Int.init)
  }

  subscript(place: Int) -> Value {
    get { entries[place].value }
    _modify { yield &entries[place].value }
  }

  /// Adds a value with a new id.
  /// - Returns: its index.
  @discardableResult
  mutating func append(_ id: TransferID, _ value: Value) -> Int {
    let place = entries.count
    entries.append((id, value))
    if places != nil {
      places?.set(id, to: UInt32(place))
    } else if place == Self.few {
      var index = IDTable()
      for (place, entry) in entries.enumerated() { index.set(entry.id, to: UInt32(place)) }
      places = index
    }
    return place
  }
}

extension IDList: RandomAccessCollection {
  var startIndex: Int { 0 }
  var endIndex: Int { entries.count }
}

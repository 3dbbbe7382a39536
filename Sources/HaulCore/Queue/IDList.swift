/// Values by id, in the order in which they came: a few are searched, many have an index.
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

  /// Adds one whose id is new.
  /// - Returns: its place.
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

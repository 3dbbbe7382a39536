/// A large value behind one reference, with copy on write.
struct CopyOnWriteBox<Value: Sendable>: Sendable {
  /// An array has copy on write already.
  private var box: ContiguousArray<Value>

  init(_ value: Value) { box = [value] }

  var value: Value {
    _read { yield box[0] }
    _modify { yield &box[0] }
  }
}

extension CopyOnWriteBox: Equatable where Value: Equatable {}
extension CopyOnWriteBox: Hashable where Value: Hashable {}

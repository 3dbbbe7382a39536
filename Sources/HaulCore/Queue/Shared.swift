/// A large value behind one reference, with copy on write.
struct Shared<Value: Sendable>: Sendable {
  /// An array does exactly that.
  private var box: ContiguousArray<Value>

  init(_ value: Value) { box = [value] }

  var value: Value {
    _read { yield box[0] }
    _modify { yield &box[0] }
  }
}

extension Shared: Equatable where Value: Equatable {}
extension Shared: Hashable where Value: Hashable {}

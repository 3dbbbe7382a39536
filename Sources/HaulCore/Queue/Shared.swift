/// A large value that is copied as one reference: as a whole it is copied when one of two that
/// share it is changed.
struct Shared<Value: Sendable>: Sendable {
  /// An array does just that.
  private var box: ContiguousArray<Value>

  init(_ value: Value) { box = [value] }

  var value: Value {
    _read { yield box[0] }
    _modify { yield &box[0] }
  }
}

extension Shared: Equatable where Value: Equatable {}
extension Shared: Hashable where Value: Hashable {}

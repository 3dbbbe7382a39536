import HaulCore

/// A decoded value, of the type of its cache.
private final class ValueBox<Value: Sendable>: Sendable {
  let value: Value

  init(_ value: Value) { self.value = value }
}

/// A decoded value with what decides about its use. Shared, so that a hit copies one reference.
///
/// It has no type parameter, so that the compiler specialises the memory that holds it. A hit
/// through generic code takes twice as long.
final class CachedResource: Sendable {
  private let box: any AnyObject & Sendable
  let response: StoredResponse
  let freshness: Freshness
  let vary: VaryNames
  /// The request fields that `vary` names.
  let selection: [HeaderFields.Field]
  /// The number of the body that it was decoded from.
  let representation: UInt64
  let cost: Int

  init<Value: Sendable>(
    value: Value, response: StoredResponse, freshness: Freshness, request: ResourceRequest,
    representation: UInt64, cost: Int
  ) {
    box = ValueBox(value)
    (self.response, self.freshness) = (response, freshness)
    vary = VaryNames(response.headers)
    selection = vary.selection(of: request.headers)
    (self.representation, self.cost) = (representation, cost)
  }

  /// The value; its type must be that of the cache that holds it.
  func value<Value: Sendable>(as _: Value.Type) -> Value {
    unsafeDowncast(box as AnyObject, to: ValueBox<Value>.self).value
  }

  /// Whether it answers this request (RFC 9111, section 4.1); address and credentials are equal.
  func fits(_ request: ResourceRequest) -> Bool {
    request.headers.isEmpty && selection.isEmpty
      || vary.selection(of: request.headers) == selection
  }
}

import HaulCore

/// A decoded value with what decides about its use. Shared, so that a hit copies one reference.
final class CachedResource<Value: Sendable>: Sendable {
  let value: Value
  let response: StoredResponse
  let freshness: Freshness
  let vary: VaryNames
  /// The request fields that `vary` names.
  let selection: [HeaderFields.Field]
  /// The number of the body that it was decoded from.
  let representation: UInt64
  let cost: Int

  init(
    value: Value, response: StoredResponse, freshness: Freshness, request: ResourceRequest,
    representation: UInt64, cost: Int
  ) {
    (self.value, self.response, self.freshness) = (value, response, freshness)
    vary = VaryNames(response.headers)
    selection = vary.selection(of: request.headers)
    (self.representation, self.cost) = (representation, cost)
  }

  /// Whether it answers this request (RFC 9111, section 4.1); address and credentials are equal.
  func fits(_ request: ResourceRequest) -> Bool {
    request.headers.fields.isEmpty && selection.isEmpty
      || vary.selection(of: request.headers) == selection
  }
}

public import HaulCore

/// What to load: an address, the header fields to send, and what a cache may answer.
public struct ResourceRequest: Hashable, Sendable {
  /// What may be answered from the cache.
  public enum CachePolicy: Hashable, Sendable, CaseIterable {
    /// A fresh value, or one that the server confirms: as the response's headers say.
    case standard
    /// Only a value that the server confirms now.
    case revalidate
    /// Only a value that is fetched now, whole.
    case reload
    /// Only a value that the cache may use without the server.
    case cacheOnly
  }

  /// The address. User information in it counts as credentials.
  public var url: ResourceURL
  /// Fields to send. Two requests share a value only if they agree in every field, except in
  /// `Accept`, `Accept-Language` and `User-Agent`: these count if the response names them in
  /// `Vary`; and in `Cache-Control` and `Pragma`, which the cache obeys.
  public var headers: HeaderFields
  /// What may be answered from the cache.
  public var policy: CachePolicy

  /// A request for that address.
  public init(
    _ url: ResourceURL, headers: HeaderFields = HeaderFields(), policy: CachePolicy = .standard
  ) {
    self.url = url
    self.headers = headers
    self.policy = policy
  }
}

extension ResourceRequest {
  /// - Throws: `transfer` with `bad-url` or `unsupported-scheme`.
  init(address: some ResourceAddress) throws(ResourceError) {
    do throws(TransferError) {
      self.init(try address.checked())
    } catch {
      throw ResourceError(.transfer(error))
    }
  }

  /// `Cache-Control` of the request (RFC 9111, section 5.2.1), with the policy.
  var directives: CacheControl {
    var control = headers.fields.isEmpty ? CacheControl() : CacheControl(headers)
    switch policy {
    case .standard: break
    case .revalidate, .reload: control.noCache = true
    case .cacheOnly: control.onlyIfCached = true
    }
    return control
  }

  /// A cache asks for whole resources and sends conditions of its own.
  /// - Throws: `refused` for a field that would change which bytes come.
  func check() throws(TransferError) {
    for field in headers.fields
    where HeaderFields.isReserved(field.name) || !HeaderFields.isName(field.name)
      || !HeaderFields.isValue(field.value)
    {
      throw TransferError(.refused, "a cached resource cannot be requested with this header field")
    }
  }
}

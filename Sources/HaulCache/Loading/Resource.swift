public import FoundationEssentials
public import HaulCore

/// A complete response, to decode.
public struct Resource: Sendable {
  /// The requested address, with its credentials. Print only its description.
  public let url: ResourceURL
  /// The header fields of the response.
  public let headers: HeaderFields
  /// The whole body.
  public let data: Data

  /// A resource. Caches create them, and tests of a decoder.
  public init(url: ResourceURL, headers: HeaderFields = HeaderFields(), data: Data) {
    self.url = url
    self.headers = headers
    self.data = data
  }
}

public import FoundationEssentials

/// What is taken as an address: a `ResourceURL`, a Foundation `URL`, or a text.
public protocol ResourceAddress: Sendable {
  /// `Never` if it is an http or https address in any case.
  associatedtype Failure: Error

  /// The address.
  /// - Throws: as `ResourceURL.init(_:)`.
  func asResourceURL() throws(Failure) -> ResourceURL
}

extension ResourceAddress {
  /// The address, for a call that throws anyway.
  /// - Throws: as `ResourceURL.init(_:)`.
  package func checked() throws(TransferError) -> ResourceURL {
    do {
      return try asResourceURL()
    } catch {
      throw error as? TransferError ?? TransferError(.badURL, "the address cannot be read")
    }
  }
}

extension ResourceURL: ResourceAddress {
  /// Itself.
  public func asResourceURL() throws(Never) -> ResourceURL { self }
}

extension URL: ResourceAddress {
  /// The http or https address.
  public func asResourceURL() throws(TransferError) -> ResourceURL { try ResourceURL(self) }
}

extension String: ResourceAddress {
  /// The http or https address that it is the text of.
  public func asResourceURL() throws(TransferError) -> ResourceURL { try ResourceURL(self) }
}

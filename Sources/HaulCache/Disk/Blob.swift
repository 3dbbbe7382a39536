package import FoundationEssentials

/// What a blob file says of its body. It holds no secret: addresses are redacted, and keys are
/// digests.
package struct BlobHead: Hashable, Sendable, Codable {
  /// The digest of the address and the credentials.
  package var resource: String
  /// The address, redacted, for people.
  package var address: String
  /// The request fields that `Vary` names.
  package var vary: [String]
  /// The digest of their values.
  package var selection: String
  /// A random number of the fetched body; a 304 keeps it.
  package var representation: UInt64
  package var response: StoredResponse

  package init(
    resource: String, address: String, vary: [String], selection: String, representation: UInt64,
    response: StoredResponse
  ) {
    self.resource = resource
    self.address = address
    self.vary = vary
    self.selection = selection
    self.representation = representation
    self.response = response
  }
}

/// A stored response with its body.
package struct Blob: Hashable, Sendable {
  package var head: BlobHead
  package var body: Data

  package init(head: BlobHead, body: Data) {
    self.head = head
    self.body = body
  }
}

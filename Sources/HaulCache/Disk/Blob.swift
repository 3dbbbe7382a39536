package import FoundationEssentials
import HaulCore
import HaulFiles

/// What a blob file says of its body. It holds no secret: addresses are redacted, and keys are
/// digests.
package struct BlobHead: Hashable, Sendable, Codable {
  /// The digest of the address, the credentials and the route.
  package var resource: String
  /// The address for people, without values of its query.
  package var address: String
  /// The digest of the address alone; nil in files of earlier versions.
  package var addressDigest: String?
  /// The request fields that `Vary` names.
  package var vary: [String]
  /// The digest of their values.
  package var selection: String
  /// A random number of the fetched body; a 304 keeps it.
  package var representation: UInt64
  package var response: StoredResponse

  package init(
    resource: String, address: String, addressDigest: String? = nil, vary: [String],
    selection: String, representation: UInt64, response: StoredResponse
  ) {
    self.resource = resource
    self.address = address
    self.addressDigest = addressDigest
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

  /// Whether the body has the digests that its head states (RFC 9530).
  package var hasStatedDigests: Bool {
    let stated = ReprDigest.checksums(ofWhole: head.response.headers)
    return stated.isEmpty || body.has(stated)
  }
}

extension Data {
  func has(_ checksums: [Checksum]) -> Bool {
    var hash = IncrementalDigest(checksums.map(\.algorithm))
    withUnsafeBytes { hash.update($0) }
    return hash.checksums == checksums
  }
}

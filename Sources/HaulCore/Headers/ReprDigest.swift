import FoundationEssentials
import StructuredFieldValues

/// Digests of the whole representation, as the server states them: strongest first.
///
/// `Content-Digest` counts only for a whole body: on a 206 it covers the part. MD5, SHA-1 and
/// CRC32C are read, but do not protect against intentional changes; the caller decides about trust.
package enum ReprDigest {
  /// The digests of a response: `Repr-Digest`, or the older `Digest` when there is none.
  package static func checksums(_ headers: HeaderFields) -> [Checksum] {
    let current = headers.values(of: "Repr-Digest")
    if !current.isEmpty { return checksums(reprDigest: current.joined(separator: ", ")) }
    let older = headers.values(of: "Digest")
    return older.isEmpty ? [] : checksums(digest: older.joined(separator: ","))
  }

  /// The digests that a body must have which is the whole representation.
  package static func checksums(ofWhole headers: HeaderFields) -> [Checksum] {
    let content = headers.values(of: "Content-Digest")
    return checksums(headers)
      + (content.isEmpty ? [] : checksums(reprDigest: content.joined(separator: ", ")))
  }

  /// Reads `Repr-Digest` (RFC 9530, section 3), a dictionary of byte sequences (RFC 9651, section
  /// 3.2).
  ///
  /// Unknown algorithms are ignored; a malformed dictionary, or a known digest that is not bytes,
  /// voids the field.
  package static func checksums(reprDigest text: String) -> [Checksum] {
    let field: Field
    do {
      field = try StructuredFieldValueDecoder().decode(from: Array(text.utf8))
    } catch {
      return []
    }
    return field.digests.compactMap { algorithm, bytes in
      bytes.flatMap { Checksum(algorithm, bytes: Array($0)) }
    }
  }

  /// Reads the obsolete `Digest` (RFC 3230, section 4.3.2): `SHA-256=BASE64`, separated by commas.
  ///
  /// Unknown algorithms and malformed members are ignored; two different values for one algorithm
  /// void both.
  package static func checksums(digest text: String) -> [Checksum] {
    var found: [Checksum.Algorithm: Set<Checksum>] = [:]
    for member in text.byteSplit(separator: ",") {
      let parts = member.byteSplit(separator: "=", maxSplits: 1)
      guard parts.count == 2,
        let algorithm = legacyNames[parts[0].trimmingBytes(" \t").lowercased()],
        let bytes = Data(base64Encoded: String(parts[1].trimmingBytes(" \t"))),
        let checksum = Checksum(algorithm, bytes: Array(bytes))
      else { continue }
      found[algorithm, default: []].insert(checksum)
    }
    return strength.compactMap { found[$0].flatMap { $0.count == 1 ? $0.first : nil } }
  }

  private static let strength: [Checksum.Algorithm] = [.sha512, .sha256, .sha1, .md5]
  private static let legacyNames: [String: Checksum.Algorithm] = [
    "sha-512": .sha512, "sha-256": .sha256, "sha": .sha1, "md5": .md5,
  ]

  /// The algorithms of the registry (RFC 9530, section 7.2) that Haul computes.
  private struct Field: StructuredFieldValue {
    static let structuredFieldType = StructuredFieldType.dictionary

    var sha512: Data?
    var sha256: Data?
    var sha1: Data?
    var md5: Data?
    var crc32c: Data?

    var digests: [(Checksum.Algorithm, Data?)] {
      [(.sha512, sha512), (.sha256, sha256), (.sha1, sha1), (.md5, md5), (.crc32c, crc32c)]
    }

    enum CodingKeys: String, CodingKey {
      case sha512 = "sha-512"
      case sha256 = "sha-256"
      case sha1 = "sha"
      case md5, crc32c
    }
  }
}

extension ResponseHead {
  /// The digest of the whole representation that it states, if one protects against changes.
  package var trustedDigest: Checksum? {
    ReprDigest.checksums(headers).first { $0.algorithm.isTrusted }
  }
}

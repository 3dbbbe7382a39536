/// Digests that a server states, of kinds that are compared with nothing.
package enum UncheckedDigests {
  private static let checked: Set = [
    "sha-512", "sha-384", "sha-256", "sha512", "sha384", "sha256", "sha", "sha1", "sha-1", "md5",
  ]
  /// S3 has fields of these names that are no checksums.
  private static let others: Set = ["type", "mode", "algorithm"]
  private static let prefixOfS3 = "x-amz-checksum-"
  private static let most = 8

  /// The names of their algorithms in lower case, each once: at most eight.
  package static func names(in headers: HeaderFields) -> [String] {
    var names: [String] = []
    for field in headers.fields {
      let name = field.name.lowercased()
      let stated: [String]
      switch name {
      case "repr-digest", "digest", "content-digest":
        stated = Self.names(field.value, between: ",", end: "=")
      case "oc-checksum": stated = Self.names(field.value, between: " ", end: ":")
      default: stated = name.dropping(bytePrefix: prefixOfS3).map { [String($0)] } ?? []
      }
      for name in stated
      where !checked.contains(name) && !others.contains(name) && !names.contains(name) {
        names.append(name)
        if names.count == most { return names }
      }
    }
    return names
  }

  /// What is before `end` in each member, if it may be the name of an algorithm.
  private static func names(_ text: String, between: Unicode.Scalar, end: Unicode.Scalar)
    -> [String]
  {
    text.byteSplit(separator: between).compactMap { member in
      let parts = member.byteSplit(separator: end, maxSplits: 1)
      guard parts.count == 2 else { return nil }
      let name = parts[0].trimmingBytes(" \t").lowercased()
      let isName = name.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "/"): true
        default: false
        }
      }
      return isName && (1...32).contains(name.utf8.count) ? name : nil
    }
  }
}

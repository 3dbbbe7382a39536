import HaulCore

/// What the name of a column says of digests. Tables name them in many ways, and a digest that is
/// not read is a file that is not checked.
enum DigestColumn: Hashable, Sendable {
  /// The column of checksums, with letters in another case.
  case checksum
  /// The column of one algorithm, such as `sha256`, `SHA-256` or `checksum_md5`.
  case algorithm(Checksum.Algorithm)
  /// It may be the digest of the file or of something else: the user must say.
  case unclear

  /// Nil for a name that has nothing of a digest.
  init?(_ name: String) {
    let words = Self.words(of: name)
    // `sha-256` and `crc-32c` are two words of one name.
    var joined: [String] = []
    for word in words {
      if let last = joined.last, Self.families.contains(last) {
        joined[joined.count - 1] = last + word
      } else {
        joined.append(word)
      }
    }
    guard joined.contains(where: Self.isOfDigest) else { return nil }
    if words == ["checksum"] || words == ["checksums"] {
      self = .checksum
      return
    }
    let others = joined.filter { !Self.general.contains($0) }
    if others.count == 1, let algorithm = Self.algorithm(others[0]) {
      self = .algorithm(algorithm)
    } else {
      self = .unclear
    }
  }

  private static let general: Set = ["checksum", "checksums", "digest", "hash", "sum", "hex"]
  private static let families: Set = ["sha", "md", "crc"]

  /// The algorithm of `sha256` or, as its program is called, of `sha256sum`.
  private static func algorithm(_ word: String) -> Checksum.Algorithm? {
    Checksum.Algorithm(name: word)
      ?? word.dropping(byteSuffix: "sum").flatMap { Checksum.Algorithm(name: $0) }
  }

  private static func isOfDigest(_ word: String) -> Bool {
    if word != "sum", word != "hex", general.contains(word) { return true }
    if families.contains(word), word != "md" { return true }
    if ["blake", "xxh"].contains(where: word.hasBytePrefix) { return true }
    return families.contains { family in
      guard let rest = word.dropping(bytePrefix: family), let first = rest.utf8.first else {
        return false
      }
      return (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first)
    }
  }

  /// The words of a name in small letters: `fileHash` and `file_hash` have the same.
  private static func words(of name: String) -> [String] {
    var (words, word, wasSmall) = ([String](), [UInt8](), false)
    func end() {
      if !word.isEmpty { words.append(String(decoding: word, as: UTF8.self)) }
      word = []
    }
    for byte in name.utf8 {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"):
        if wasSmall { end() }
        word.append(byte | 0x20)
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
        word.append(byte)
      default: end()
      }
      wasSmall = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
    }
    end()
    return words
  }
}

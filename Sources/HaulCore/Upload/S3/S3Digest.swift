import FoundationEssentials

/// The digests of a part, as requests and answers have them.
struct S3Digest: Hashable, Sendable {
  let contentMD5: String
  /// In hexadecimal, as in most entity tags of parts.
  let md5: String
  let sha256: String?
  let crc32c: Checksum?

  /// Nil without an MD5.
  init?(_ checksums: [Checksum]) {
    guard let md5 = checksums.first(where: { $0.algorithm == .md5 }) else { return nil }
    contentMD5 = Data(md5.bytes).base64EncodedString()
    self.md5 = md5.hex
    sha256 = checksums.first { $0.algorithm == .sha256 }?.hex
    crc32c = checksums.first { $0.algorithm == .crc32c }
  }

  /// Whether the entity tag is that of the same bytes.
  func matches(_ tag: String) -> Bool { Self.bare(tag) == md5 }

  /// Whether the entity tag is the MD5 of other bytes, if it is an MD5.
  func contradicts(_ tag: String) -> Bool {
    !matches(tag) && Checksum("md5=\(Self.bare(tag))") != nil
  }

  /// An entity tag without its quotes, in lower case.
  static func bare(_ tag: String) -> String { tag.lowercased().replacingBytes("\"", with: "") }
}

/// Whether a store has the bytes that it was sent, as far as their MD5 shows it.
struct S3Proof: Sendable {
  /// Whether bodies are sent with their MD5, for the store to check. It computes that one beside
  /// the entity tag, so once a tag was the MD5 of its part, the tags are compared instead.
  private(set) var sendsMD5 = true
  /// Whether a part's entity tag was its MD5. Then another MD5 is that of other bytes.
  var hasTags = false
  /// Whether the store has to check the MD5 of each part. After a crash, the parts of a remote
  /// source are taken as they are listed. And a part without its MD5 may have been refused, or have
  /// got another entity tag.
  private var needsMD5: Bool
  /// The digests of the parts that are being sent, and whether the store checks their MD5.
  private(set) var sent: [Int: (digest: S3Digest, isChecked: Bool)] = [:]

  init(needsMD5: Bool = false) { self.needsMD5 = needsMD5 }

  /// A part is sent.
  mutating func send(_ part: Int, _ digest: S3Digest) { sent[part] = (digest, sendsMD5) }

  /// The store checks the MD5 of each part from now on.
  mutating func demandMD5() { (needsMD5, sendsMD5) = (true, true) }

  /// Whether the store has the bytes of this part: their MD5 is its entity tag, or came with them
  /// and no tag says otherwise.
  mutating func proves(_ part: Int, by tag: String) -> Bool {
    guard let (digest, isChecked) = sent[part] else { return false }
    let isTagMD5 = digest.matches(tag)
    if isTagMD5 { hasTags = true }
    let isProved = isTagMD5 || isChecked && !(hasTags && digest.contradicts(tag))
    if !isProved { needsMD5 = true }
    sendsMD5 = needsMD5 || !isTagMD5
    return isProved
  }
}

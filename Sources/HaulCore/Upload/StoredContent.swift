/// What a server says of the content of a file, to tell whether it is what a run would have stored.
struct StoredContent: Sendable, Hashable {
  /// In bytes; nil if it is not known.
  let length: Int64?
  /// The digests that it states. A CRC proves nothing.
  private(set) var digests: [Checksum] = []
  /// The entity tag, if it may be the MD5 of the content.
  private var tag: Checksum?

  /// From the answer to HEAD. What is encoded there has another length and another digest.
  init(_ head: ResponseHead, of request: UploadRequest) {
    length = StoredLength.head(head, of: request)
    guard (200..<300).contains(head.status), head.contentCoding == nil else { return }
    digests = (ReprDigest.checksums(head.headers) + Self.ownCloud(head.headers))
      .filter { !$0.algorithm.isCRC }
    tag = head.headers["ETag"].flatMap { Checksum("md5=\(S3Digest.bare($0))") }
  }

  /// As ownCloud and Nextcloud state them: `SHA1:… MD5:…`.
  private static func ownCloud(_ headers: HeaderFields) -> [Checksum] {
    headers.values(of: "OC-Checksum").flatMap { $0.byteSplit(separator: " ") }.compactMap { word in
      let parts = word.byteSplit(separator: ":", maxSplits: 1)
      return parts.count == 2 ? Checksum("\(parts[0])=\(parts[1])") : nil
    }
  }

  /// What to compute of the bytes that would have been stored.
  var algorithms: [Checksum.Algorithm] {
    let named = digests.map(\.algorithm) + (tag == nil ? [] : [.md5])
    return Checksum.Algorithm.allCases.filter(named.contains)
  }

  /// Whether it is the content with this length and these digests; nil if nothing proves it.
  func isEqual(to own: [Checksum], length ownLength: Int64?) -> Bool? {
    if let length, let ownLength, length != ownLength { return false }
    let equal = digests.flatMap { digest in
      own.filter { $0.algorithm == digest.algorithm }.map { $0 == digest }
    }
    if equal.contains(false) { return false }
    return equal.contains(true) || tag.map(own.contains) == true ? true : nil
  }

  /// The digests of these that the server has stated.
  func equal(to own: [Checksum]) -> [Checksum] {
    own.filter { digests.contains($0) || tag == $0 }
  }
}

extension UploadMessage {
  /// Asks what is stored there, with its digest (RFC 9530, section 4).
  static func compare(_ url: ResourceURL, of request: UploadRequest) -> UploadMessage {
    var message = measure(url, of: request)
    message.fields.append("Want-Repr-Digest", "sha-256=2, md5=1")
    message.isOptional = false
    return message
  }
}

import Crypto

/// What a store says of the content of an object, to tell whether it is that of a file.
struct S3StoredObject: Sendable, Hashable {
  /// In bytes; nil if it does not say it.
  let length: Int64?
  /// The checksums that it has computed, or checked, of the whole object.
  private(set) var stated: [Checksum] = []
  /// Whether it states two different checksums of one kind, of which none can be believed.
  let contradictsItself: Bool
  /// The entity tag, if it may be the MD5 of the object.
  private var tag: Checksum?
  /// Whether a tag that is another MD5 is that of other bytes: not if a key of the user, or of a
  /// key service, encrypts the object.
  private var isTagOfContent = true
  /// The entity tag of an object that was sent in parts: the MD5 of those of its parts.
  private(set) var ofParts: PartsTag?

  struct PartsTag: Sendable, Hashable {
    let md5: Checksum
    let count: Int
  }

  private static let fields: [(name: String, algorithm: Checksum.Algorithm)] = [
    ("x-amz-checksum-sha256", .sha256), ("x-amz-checksum-sha1", .sha1),
    ("x-amz-checksum-crc64nvme", .crc64nvme), (S3Messages.checksumField, .crc32c),
  ]

  /// From the answer to HEAD.
  init(_ head: ResponseHead) {
    let headers = head.headers
    if case .bytes(let bytes) = ContentLength(headers) { length = bytes } else { length = nil }
    let text = headers["ETag"].map(S3Digest.bare) ?? ""
    let words = text.byteSplit(separator: "-", omittingEmptySubsequences: false)
    tag = Checksum("md5=\(text)")
    isTagOfContent = !headers.nameKey
    if words.count == 2, let md5 = Checksum("md5=\(words[0])"), let count = Int(words[1]),
      (1...Int(S3Parts.maximumCount)).contains(count)
    {
      ofParts = PartsTag(md5: md5, count: count)
    }
    contradictsItself = Self.fields.contains { field in
      headers[field.name] != nil && headers.single(field.name) == nil
    }
    // That of an object in parts may be a checksum of checksums.
    let type = headers[S3Messages.checksumType]?.uppercased()
    guard type == S3Messages.wholeObject || type == nil && tag != nil else { return }
    stated = Self.fields.compactMap { field in
      headers[field.name].flatMap { Checksum(field.algorithm, base64: $0) }
    }
  }

  /// What to compute of the file; nothing if the object has no digest of its whole content.
  var algorithms: [Checksum.Algorithm] {
    stated.map(\.algorithm) + (tag == nil ? [] : [.md5])
  }

  /// The digests of the file that prove the object to be the same; nil if none does, or one says
  /// that it is not.
  func proof(by own: [Checksum]) -> [Checksum]? {
    guard stated.allSatisfy(own.contains) else { return nil }
    let equal = own.filter { stated.contains($0) || $0 == tag }
    if tag != nil, isTagOfContent, !equal.contains(where: { $0 == tag }) { return nil }
    return equal.isEmpty ? nil : equal
  }
}

extension HeaderFields {
  /// Whether they name a key with which the store encrypts the object, other than its own.
  fileprivate var nameKey: Bool {
    fields.contains { field in
      let name = field.name.lowercased()
      return name.hasBytePrefix("x-amz-server-side-encryption-customer-")
        || name == "x-amz-server-side-encryption" && field.value.lowercased().hasBytePrefix("aws:")
        || name.hasBytePrefix("x-goog-encryption")
    }
  }
}

/// The comparison of a file with an object that was sent in parts of a known size.
struct S3PartComparison: Sendable, Hashable {
  private let md5: Checksum
  private let size: Int64
  private let length: Int64
  /// The MD5 of each part that was read.
  private var parts: [UInt8] = []
  /// How many these are.
  private var count = 0

  /// - Parameter size: of every part but the last, in bytes.
  /// - Returns: nil if a file of this length has another number of such parts.
  init?(_ object: S3StoredObject, size: Int64, length: Int64) {
    guard let ofParts = object.ofParts, size > 0, length > 0,
      (length - 1) / size + 1 == Int64(ofParts.count)
    else { return nil }
    (md5, self.size, self.length) = (ofParts.md5, size, length)
  }

  /// The next part to read, with its number; nil once all were read.
  var next: (number: Int, range: ByteRange)? {
    let start = Int64(count) * size
    guard start < length else { return nil }
    return (count + 1, start..<min(start + size, length))
  }

  /// A part was read.
  mutating func add(_ digests: [Checksum]) {
    parts += digests.first { $0.algorithm == .md5 }?.bytes ?? []
    count += 1
  }

  /// Whether all parts are those of the object.
  var isEqual: Bool { next == nil && Array(Insecure.MD5.hash(data: parts)) == md5.bytes }
}

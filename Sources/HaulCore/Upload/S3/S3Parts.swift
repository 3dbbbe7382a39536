import Crypto

/// The parts of one upload: which the store has, and which are being sent.
struct S3Parts: Hashable, Sendable {
  /// The length of the file, or of what was read of a stream; in bytes.
  private(set) var length: Int64
  /// The length of every part but the last, in bytes; for a stream, that of its first parts.
  let partSize: Int64
  /// Whether they are of a stream, whose length is not known beforehand.
  let isStream: Bool
  /// Whether `length` is that of the whole source.
  private(set) var isWhole: Bool
  /// How many there are of these bytes; an empty file has one.
  private(set) var count: Int
  /// The entity tags of the parts that the store has.
  private(set) var tags: [Int: String] = [:]
  /// The parts that the store has, with an entity tag that may be the MD5 of other bytes.
  private(set) var doubtful: Set<Int> = []
  /// The CRC32C values of the parts of the file that were read.
  private var checksums: [Int: Checksum] = [:]
  /// The parts that are being read or sent.
  private(set) var open: Set<Int> = []
  /// Whether it is known which of them the store has.
  var areKnown: Bool
  /// The bytes that the store has.
  private(set) var acknowledged: Int64 = 0
  /// Every part below it is open, or the store has it.
  private var next = 1

  init(length: Int64, partSize: Int64) {
    (self.length, self.partSize, isStream, isWhole) = (length, partSize, false, true)
    areKnown = false
    count = max(1, Self.count(of: partSize, in: length))
  }

  /// The parts of a stream of which the first part was read.
  init(stream extent: UploadExtent) {
    (length, partSize, isStream, isWhole) = (extent.end, extent.end, true, false)
    (count, areKnown) = (1, true)
  }

  /// Adds the next part of a stream.
  mutating func add(_ extent: UploadExtent) {
    (length, isWhole, count) = (extent.end, extent.isWhole, count + 1)
  }

  /// A file up to this length is one object without parts.
  static let ordinarySize: Int64 = 16 << 20
  /// The least size of a part, except of the last one, and the largest one.
  static let sizes: ClosedRange<Int64> = 5 << 20...5 << 30
  static let maximumCount: Int64 = 10_000

  /// The size of the parts of a file: the ordinary one, or larger, so that there are not too many.
  /// Nil if no store takes so long a file.
  static func size(for length: Int64, atLeast ordinary: Int64 = ordinarySize) -> Int64? {
    guard length <= maximumCount * sizes.upperBound else { return nil }
    let least = (length + maximumCount - 1) / maximumCount
    let size = max(ordinary, ((least + (1 << 20) - 1) >> 20) << 20)
    return size <= sizes.upperBound ? size : nil
  }

  /// A server may say any length: a sum with it may be more than fits.
  private static func count(of size: Int64, in length: Int64) -> Int {
    Int(length / size) + (length.isMultiple(of: size) ? 0 : 1)
  }

  /// A part of a remote source is held in memory, so this is its ordinary size, and the most that
  /// is held of one upload.
  private static let remoteSize: Int64 = 8 << 20
  private static let mostHeld: Int64 = 32 << 20

  /// The greatest length that is sent as one object.
  static func mostSingle(of source: SourceIdentity) -> Int64 {
    source.remote == nil ? ordinarySize : remoteSize
  }

  /// As `size(for:)`, of a file or a remote source.
  static func size(for source: SourceIdentity) -> Int64? {
    guard source.remote != nil else { return size(for: source.size) }
    guard let least = size(for: source.size, atLeast: remoteSize), least <= mostHeld else {
      return nil
    }
    return least
  }

  /// How many parts of this source are useful at once.
  static func connections(for source: SourceIdentity) -> Int {
    guard source.isInParts else { return 1 }
    guard source.remote != nil else { return 4 }
    return Int(max(1, mostHeld / (size(for: source) ?? mostHeld)))
  }

  /// Whether a stored size can be that of the parts of a file of this length.
  static func isPossible(_ size: Int64, for length: Int64) -> Bool {
    sizes.contains(size) && count(of: size, in: length) <= maximumCount
  }

  /// Whether the store has all of these parts.
  var isComplete: Bool { tags.count == count }

  /// The parts of a stream are held in memory: they grow, but not beyond 32 MiB.
  private static let growth = (ofOneSize: 1000, doublings: 2)

  /// The length of a full part, in bytes.
  func size(of number: Int) -> Int64 {
    guard isStream else { return partSize }
    return partSize << min(Self.growth.doublings, (number - 1) / Self.growth.ofOneSize)
  }

  private func start(of number: Int) -> Int64 {
    guard isStream else { return Int64(number - 1) * partSize }
    let (before, each) = (number - 1, Self.growth.ofOneSize)
    return (0...Self.growth.doublings).reduce(0) { sum, doubling in
      let rest = max(0, before - doubling * each)
      let parts = doubling == Self.growth.doublings ? rest : min(each, rest)
      return sum + Int64(parts) * (partSize << doubling)
    }
  }

  func range(of number: Int) -> ByteRange {
    let start = start(of: number)
    return start..<min(length, start + size(of: number))
  }

  /// Opens the first part that the store lacks; nil if there is none.
  mutating func openNext() -> Int? {
    while next <= count, tags[next] != nil || open.contains(next) { next += 1 }
    guard next <= count else { return nil }
    open.insert(next)
    return next
  }

  /// The part of the file has this CRC32C.
  mutating func note(_ checksum: Checksum?, of number: Int) { checksums[number] = checksum }

  /// The CRC32C of this part; nil if it was not computed.
  func checksum(of number: Int) -> Checksum? { checksums[number] }

  /// The CRC32C of the whole file; nil if that of a part was not computed.
  var checksum: Checksum? {
    guard var whole = checksums[1] else { return nil }
    for number in 1..<count {
      guard let next = checksums[number + 1],
        let joined = whole.joined(with: next, length: range(of: number + 1).length)
      else { return nil }
      whole = joined
    }
    return whole
  }

  /// Whether an object with this entity tag is made of these parts, in their order: the tags of
  /// most stores are the MD5 of those of the parts, and their number. Takes time linear in `count`.
  func make(_ tag: String) -> Bool {
    var md5 = Insecure.MD5()
    for number in 1...count {
      guard let part = tags[number].flatMap({ Checksum("md5=\(S3Digest.bare($0))") }) else {
        return false
      }
      md5.update(data: part.bytes)
    }
    return Checksum(.md5, bytes: Array(md5.finalize())).map {
      S3Digest.bare(tag) == "\($0.hex)-\(count)"
    } ?? false
  }

  /// The store has this part.
  mutating func finish(_ number: Int, tag: String, isDoubtful: Bool = false) {
    open.remove(number)
    if isDoubtful { doubtful.insert(number) }
    guard tags.updateValue(tag, forKey: number) == nil else { return }
    acknowledged += range(of: number).length
  }

  /// The store has other bytes than those of the doubtful parts.
  mutating func loseDoubtful() {
    for number in doubtful where tags.removeValue(forKey: number) != nil {
      acknowledged -= range(of: number).length
      next = min(next, number)
    }
    doubtful = []
  }

  /// This part is no longer being sent, and the store may lack it.
  mutating func close(_ number: Int) {
    open.remove(number)
    next = min(next, number)
  }

  /// The store may lack every part.
  mutating func reset() {
    (tags, doubtful, open, acknowledged, next) = ([:], [], [], 0, 1)
  }

  /// What completes the upload (CompleteMultipartUpload).
  func completion(hasChecksums: Bool) -> [UInt8] {
    let parts = tags.sorted { $0.key < $1.key }.map { number, tag in
      let checksum = (hasChecksums ? checksums[number] : nil).map {
        "<ChecksumCRC32C>\($0.base64)</ChecksumCRC32C>"
      }
      return "<Part><PartNumber>\(number)</PartNumber>\(checksum ?? "")"
        + "<ETag>\(XMLElement.escaped(tag))</ETag></Part>"
    }
    return Array(
      ("<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        + parts.joined() + "</CompleteMultipartUpload>").utf8)
  }
}

/// One page of the parts that a store has (ListParts).
struct S3PartList: Hashable, Sendable {
  struct Part: Hashable, Sendable {
    let number: Int
    let size: Int64
    let tag: String
    /// The CRC32C that the store has computed; nil if it names none.
    var crc32c: Checksum?
  }

  let parts: [Part]
  /// The last part of this page, if there are more; 0 if it is not known.
  let nextMarker: Int?

  /// Nil for a document that is not such a page.
  init?(_ body: [UInt8]) {
    guard let root = XMLElement(document: body), root.isAnswer("ListParts") else {
      return nil
    }
    var parts: [Part] = []
    for element in root.children where element.name == "Part" {
      guard let number = element["PartNumber"].flatMap({ Int($0) }),
        let size = element["Size"].flatMap({ Int64($0) }), let tag = element["ETag"]
      else { return nil }
      let crc32c = element["ChecksumCRC32C"].flatMap { Checksum(.crc32c, base64: $0) }
      parts.append(Part(number: number, size: size, tag: tag, crc32c: crc32c))
    }
    self.parts = parts
    guard root["IsTruncated"] == "true" else {
      nextMarker = nil
      return
    }
    let named = root["NextPartNumberMarker"].flatMap { Int($0) } ?? 0
    nextMarker = max(named, parts.last?.number ?? 0)
  }
}

extension SourceIdentity {
  /// Whether a store gets it in parts.
  package var isInParts: Bool { size > S3Parts.mostSingle(of: self) }
}

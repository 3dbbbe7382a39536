package import HaulCore

/// The contents of a journal, parsed from its bytes. It does not access the disk.
package struct JournalReplay: Sendable {
  package enum Condition: Hashable, Sendable {
    /// The journal is empty, or torn within the header.
    case empty
    case valid
    /// It is not a journal of Haul.
    case foreign
    /// Written by a newer version.
    case newer
  }

  /// One claim of the present generation.
  package struct Claim: Hashable, Sendable {
    package var extent: Extent
    package var isVoid = false
  }

  package private(set) var condition: Condition = .empty
  package private(set) var head: JournalHead?
  package private(set) var run: JournalRun?
  package private(set) var claims: [Claim] = []
  /// The number of claims that were on disk at the last good sync.
  package private(set) var durableCount: UInt64 = 0
  /// Whether a sync began whose end is not recorded.
  package private(set) var syncIsOpen = false
  package private(set) var publication: Publication?
  package private(set) var placeholder: FileIdentity?
  package private(set) var rejected: [Checksum] = []
  /// Whether bytes of the present generation may be of several versions.
  package private(set) var mayMixVersions = false
  /// The end of the valid records.
  package private(set) var end = 0
  /// The number of bytes after them: a torn tail.
  package private(set) var tornLength = 0
  /// The checksum that the next record continues.
  package private(set) var crc: UInt32 = 0

  package init(_ bytes: [UInt8]) {
    condition = readHeader(bytes)
    guard condition == .valid else {
      tornLength = condition == .empty ? bytes.count : 0
      return
    }
    while condition == .valid, readRecord(bytes) {}
    tornLength = bytes.count - end
  }

  private mutating func readHeader(_ bytes: [UInt8]) -> Condition {
    let length = JournalFormat.headerLength
    guard bytes.count >= length else {
      return JournalFormat.header().starts(with: bytes) || bytes.allSatisfy { $0 == 0 }
        ? .empty : .foreign
    }
    let known = bytes[..<12]
    let sum = UInt32(littleEndian: bytes[12..<length])
    guard CRC32C.of(Array(known)) == sum else {
      // After a power cut, a block that was never written contains zeros.
      let isTorn = zip(known, JournalFormat.magic).allSatisfy { $0 == $1 || $0 == 0 }
      return isTorn ? .empty : .foreign
    }
    guard known.starts(with: JournalFormat.magic) else { return .foreign }
    guard UInt32(littleEndian: bytes[8..<12]) == JournalFormat.version else { return .newer }
    end = length
    crc = sum
    return .valid
  }

  /// Reads the record at `end`; false without a whole, correct record.
  private mutating func readRecord(_ bytes: [UInt8]) -> Bool {
    guard bytes.count - end >= JournalFormat.frameLength else { return false }
    let length = Int(UInt32(littleEndian: bytes[(end + 1)..<(end + 5)]))
    guard length <= JournalFormat.maximumPayload,
      bytes.count - end >= JournalFormat.frameLength + length
    else { return false }
    let payload = bytes[(end + 5)..<(end + 5 + length)]
    let sum = UInt32(littleEndian: bytes[payload.endIndex..<(payload.endIndex + 4)])
    let framed = bytes[end..<payload.endIndex]
    guard JournalFormat.checksum(framed, after: crc) == sum else { return false }
    guard let record = JournalRecord(type: bytes[end], payload: payload) else {
      condition = .newer
      return false
    }
    apply(record)
    end = payload.endIndex + 4
    crc = sum
    return true
  }

  private mutating func apply(_ record: JournalRecord) {
    switch record {
    case .head(let head):
      self.head = head
      claims = []
      durableCount = 0
      syncIsOpen = false
      publication = nil
      placeholder = nil
      rejected = []
      mayMixVersions = false
    case .run(let run):
      self.run = run
      placeholder = nil
    case .written(let extents):
      claims += extents.map { Claim(extent: $0) }
    case .syncing:
      syncIsOpen = true
    case .durable(let count):
      durableCount = min(max(durableCount, count), UInt64(claims.count))
      syncIsOpen = false
    case .void(let ranges):
      for range in ranges { void(range) }
    case .publishing(let publication):
      self.publication = publication
      placeholder = nil
    case .placeholder(let identity):
      placeholder = identity
    case .rejected(let checksum):
      rejected.append(checksum)
    case .unproved:
      mayMixVersions = true
    }
  }

  /// Where segments began: starts of claims that continue no earlier one, sorted.
  package var segmentStarts: [Int64] {
    var ends: Set<Int64> = []
    var starts: [Int64] = []
    for claim in claims where !claim.isVoid {
      let range = claim.extent.range
      if ends.remove(range.lowerBound) == nil { starts.append(range.lowerBound) }
      ends.insert(range.upperBound)
    }
    return starts.sorted()
  }

  private mutating func void(_ range: Range<UInt64>) {
    let all = UInt64(claims.count)
    for ordinal in range.clamped(to: 0..<all) { claims[Int(ordinal)].isVoid = true }
    // The range has all that a failed sync may have lost, so no claim is in doubt.
    if range.upperBound >= all, range.lowerBound <= durableCount { syncIsOpen = false }
  }
}

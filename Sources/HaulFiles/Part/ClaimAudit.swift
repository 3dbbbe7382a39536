import HaulCore

/// Checks which claims of a journal are valid.
struct ClaimAudit {
  struct Findings {
    /// The ranges of the claims by number; nil for an invalid claim.
    var ranges: [ByteRange?] = []
    /// The numbers of the invalid claims that are not yet void.
    var void: [Range<UInt64>] = []
  }

  let replay: JournalReplay
  let file: any DiskFile
  /// The size of the file; it can disprove bytes, but not prove them.
  let size: Int64
  /// True for the same boot, mount and file, and a journal without a torn tail.
  let trustsUnread: Bool
  /// Whether to rewrite claims whose sync has no recorded end: after a failed sync, lost pages look
  /// clean.
  let rewritesDoubtful: Bool

  func perform(_ isCancelled: () -> Bool) throws(TransferError) -> Findings {
    var findings = Findings()
    var seen = ByteRangeSet()
    for (number, claim) in replay.claims.enumerated() {
      if isCancelled() { throw TransferError(.cancelled, "cancelled while reading the part file") }
      let range = claim.extent.range
      let isFirst = !claim.isVoid && seen.isDisjoint(range)
      if isFirst, try holds(claim.extent, number: UInt64(number)) {
        seen.insert(contentsOf: range)
        findings.ranges.append(range)
      } else {
        findings.ranges.append(nil)
        if !claim.isVoid { findings.addVoid(UInt64(number)) }
      }
    }
    return findings
  }

  private func holds(_ extent: Extent, number: UInt64) throws(TransferError) -> Bool {
    guard extent.range.upperBound <= size else { return false }
    let isDoubtful = rewritesDoubtful && replay.syncIsOpen && number >= replay.durableCount
    if trustsUnread && !isDoubtful { return true }
    return try ClaimReader.matches(extent, in: file, rewriting: isDoubtful)
  }
}

extension ClaimAudit.Findings {
  fileprivate mutating func addVoid(_ number: UInt64) {
    if let last = void.last, last.upperBound == number {
      void[void.count - 1] = last.lowerBound..<(number + 1)
    } else {
      void.append(number..<(number + 1))
    }
  }
}

enum ClaimReader {
  /// Whether the bytes on disk match the claim. Unreadable bytes do not.
  /// - Throws: only when rewriting them fails.
  static func matches(_ extent: Extent, in file: any DiskFile, rewriting: Bool = false)
    throws(TransferError) -> Bool
  {
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Int(extent.length), alignment: 64)
    defer { buffer.deallocate() }
    var filled = 0
    while filled < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
      // An unreadable sector voids a claim; otherwise recovery would fail for ever.
      guard let count = try? file.read(into: rest, at: extent.offset + Int64(filled)), count > 0
      else { return false }
      filled += count
    }
    var crc = CRC32C()
    crc.update(UnsafeRawBufferPointer(buffer))
    guard crc.value == extent.crc else { return false }
    if rewriting {
      try FileWriter.writeAll(
        UnsafeRawBufferPointer(buffer), to: file, at: extent.offset, "write the part file")
    }
    return true
  }
}

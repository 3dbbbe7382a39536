package import HaulCore

extension PartFile {
  /// The ranges of an earlier run to compare with the server's bytes. Long stretches of zeros prove
  /// nothing, so a range of zeros is moved towards the next one, by 4 MiB at most. Empty if there
  /// are only zeros.
  /// - Throws: `io`.
  package func comparisonRanges() throws(TransferError) -> [ByteRange] {
    let part = try locked { state throws(TransferError) in try state.openPart() }
    let received = recovery.received
    let candidates = ComparisonRanges.candidates(
      in: received, segmentStarts: recovery.segmentStarts)
    var ranges: [ByteRange] = []
    var hasNonZeroBytes = false
    for (number, candidate) in candidates.enumerated() {
      let next = number + 1 < candidates.count ? candidates[number + 1].lowerBound : .max
      let found = try firstNonZero(candidate, before: next, received, in: part)
      hasNonZeroBytes = hasNonZeroBytes || found != nil
      ranges.append(found ?? candidate)
    }
    return hasNonZeroBytes ? ranges : []
  }

  /// The first offset from there on with a byte other than zero.
  private func firstNonZero(
    _ first: ByteRange, before next: Int64, _ received: ByteRangeSet, in part: any DiskFile
  ) throws(TransferError) -> ByteRange? {
    guard let range = received.ranges.first(where: { $0.contains(first.lowerBound) }) else {
      return nil
    }
    let end = min(range.upperBound, max(next, first.upperBound), first.lowerBound + (4 << 20))
    var start = first.lowerBound
    while start < end {
      let candidate = start..<min(start + first.length, end)
      var isZero = true
      try FileReader.forEachBlock(of: part, in: candidate) { block in
        isZero = isZero && block.allSatisfy { $0 == 0 }
      }
      if !isZero { return candidate }
      start = candidate.upperBound
    }
    return nil
  }

  /// Records that nothing proves later bytes to be of the same version as earlier ones.
  /// - Throws: `disk-full`, `io`, `in-use`.
  package func noteMixedVersions() throws(TransferError) {
    try locked { state throws(TransferError) in
      _ = try state.openPart()
      try state.append(.unproved)
    }
  }

  /// Whether exactly these bytes are at `offset`.
  /// - Throws: `io`, `length-mismatch` if the file is shorter.
  package func holds(_ bytes: [UInt8], at offset: Int64) throws(TransferError) -> Bool {
    let part = try locked { state throws(TransferError) in try state.openPart() }
    var position = 0
    var isSame = true
    let range = offset..<(offset + Int64(bytes.count))
    try FileReader.forEachBlock(of: part, in: range) { block in
      isSame = isSame && bytes[position..<(position + block.count)].elementsEqual(block)
      position += block.count
    }
    return isSame
  }
}

package import HaulCore

extension PartFile {
  /// Where the bytes that an earlier run left can be compared with the server's. A place that has
  /// only zeros, of which files have long stretches, is moved towards the next one, 4 MiB at most;
  /// empty when there is nothing else.
  /// - Throws: `io`.
  package func comparisonPlaces() throws(TransferError) -> [ByteRange] {
    let part = try locked { state throws(TransferError) in try state.openPart() }
    let received = recovery.received
    let candidates = ComparisonOffsets.candidates(
      in: received, segmentStarts: recovery.segmentStarts)
    var places: [ByteRange] = []
    var tellsSomething = false
    for (number, candidate) in candidates.enumerated() {
      let next = number + 1 < candidates.count ? candidates[number + 1].lowerBound : .max
      let found = try telling(candidate, before: next, received, in: part)
      tellsSomething = tellsSomething || found != nil
      places.append(found ?? candidate)
    }
    return tellsSomething ? places : []
  }

  /// The first place from there on that has other bytes than zeros.
  private func telling(
    _ place: ByteRange, before next: Int64, _ received: ByteRangeSet, in part: any DiskFile
  ) throws(TransferError) -> ByteRange? {
    guard let range = received.ranges.first(where: { $0.contains(place.lowerBound) }) else {
      return nil
    }
    let end = min(range.upperBound, max(next, place.upperBound), place.lowerBound + (4 << 20))
    var start = place.lowerBound
    while start < end {
      let candidate = start..<min(start + place.length, end)
      var isZero = true
      try FileReader.forEachBlock(of: part, in: candidate) { block in
        isZero = isZero && block.allSatisfy { $0 == 0 }
      }
      if !isZero { return candidate }
      start = candidate.upperBound
    }
    return nil
  }

  /// Puts down that bytes from here on are not proved to be of one version with those before.
  /// - Throws: `disk-full`, `io`, `in-use`.
  package func noteUnproved() throws(TransferError) {
    try locked { state throws(TransferError) in
      _ = try state.openPart()
      try state.append(.unproved)
    }
  }

  /// Whether exactly these bytes stand at `offset`.
  /// - Throws: `io`, `length-mismatch` when the file ends before.
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

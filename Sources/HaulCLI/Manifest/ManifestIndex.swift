import HaulCore

/// The line that counts for each file of manifests. They may be longer than the memory: of each
/// file 8 bytes are held, and its line is read again.
///
/// Of several lines the last one counts, except that a file that is complete stays so if a run
/// fails that began before: it may have found it taken.
final class ManifestIndex {
  private var numbers = HashedNumbers()
  private var manifests: [ManifestText] = []
  /// The number of the next line.
  private var next = 1
  /// That of the last line with which a run began.
  private var lastBeginning = 0
  /// When a run last said that it may have replaced a newer version of a file with an older one.
  private var doubts: [ManifestLine.ID: Double] = [:]
  /// The one that was read last: others are closed, because there may be many.
  private var open = 0
  private let seed = UInt64.random(in: .min ... .max) | 1

  /// Reads a manifest.
  /// - Parameter noteComplete: gets each line that says that a file is complete, and now counts,
  ///   with its number.
  /// - Returns: how many files its longest input has.
  func add(
    _ manifest: ManifestText,
    _ noteComplete: (LineValues, Int) -> Void = { (_, _) in }
  ) throws(TransferError) -> Int {
    manifest.first = next
    manifests.last?.close()
    manifests.append(manifest)
    (open, lastBeginning) = (manifests.count - 1, 0)
    var most = 0
    try manifest.number { (line) throws(TransferError) in
      guard next <= UInt32.max else {
        throw TransferError(.io, "the manifests have too many lines", advice: "begin a new one")
      }
      defer { next += 1 }
      guard let (id, isComplete) = ManifestLine.end(line) else {
        guard let files = ManifestLine.files(line) else { return false }
        (lastBeginning, most) = (next, max(most, files))
        return true
      }
      if try take(id, LineValues(line), isComplete, manifest), isComplete {
        noteComplete(LineValues(line), next)
      }
      return true
    }
    return most
  }

  /// - Returns: whether the next line, which is the one given, now counts for its file.
  private func take(
    _ id: ManifestLine.ID, _ values: LineValues, _ isComplete: Bool, _ manifest: ManifestText
  ) throws(TransferError) -> Bool {
    let (hash, found) = (hash(of: id), try find(id))
    let number = numbers[found.slot]
    let isEarlier = number.map { $0 < manifest.first } ?? false
    if isComplete {
      if !doubts.isEmpty, let doubt = doubts[id] {
        guard values.number("time") ?? 0 > doubt else { return false }
        doubts[id] = nil
      }
      // Which of two manifests is the later one is not known.
      guard !found.isComplete || !isEarlier else { return false }
    } else {
      // The older version may have replaced the complete one at any time.
      let isDoubt = values.text("code") == TransferError.Code.sourceChanged.rawValue
      if isDoubt { doubts[id] = values.number("time") ?? .infinity }
      if found.isComplete, let number {
        guard isDoubt || !isEarlier && number < lastBeginning else { return false }
      } else if values.line.last != UInt8(ascii: "}") {
        return false  // it was not written to its end, and takes nothing back
      }
    }
    numbers.set(next, of: hash, in: found.slot)
    return true
  }

  private func hash(of id: ManifestLine.ID) -> UInt32 {
    UInt32(truncatingIfNeeded: (id.low &* seed) >> 32)
  }

  /// - Returns: the slot of a file; its line, and whether that says that it is complete.
  private func find(
    _ id: ManifestLine.ID
  ) throws(TransferError) -> (slot: Int, line: ArraySlice<UInt8>, isComplete: Bool) {
    var (found, isComplete) = (ArraySlice<UInt8>(), false)
    let slot = try numbers.slot(of: hash(of: id)) { (number) throws(TransferError) in
      let line = try line(number)
      guard let end = ManifestLine.end(line), end.id == id else { return false }
      (found, isComplete) = (line, end.isComplete)
      return true
    }
    return (slot, found, isComplete)
  }

  /// The line that counts for a file, with its number, if it says that the file is complete.
  func complete(
    _ id: ManifestLine.ID
  ) throws(TransferError) -> (number: Int, line: ArraySlice<UInt8>)? {
    let found = try find(id)
    guard found.isComplete, let number = numbers[found.slot] else { return nil }
    return (number, found.line)
  }

  func line(_ number: Int) throws(TransferError) -> ArraySlice<UInt8> {
    var (low, high) = (0, manifests.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if manifests[middle].first > number { high = middle } else { low = middle }
    }
    return try using(low).line(number)
  }

  private func using(_ index: Int) -> ManifestText {
    if index != open {
      // The last one may be in the midst of being read.
      if open < manifests.count - 1 { manifests[open].close() }
      open = index
    }
    return manifests[index]
  }

  /// Passes the lines that count, in their order. After it, files are no longer found.
  func takeLines(
    _ take: (_ number: Int, ArraySlice<UInt8>) throws(TransferError) -> Void
  ) throws(TransferError) {
    var counting = IndexBitSet()
    numbers.forEach { counting.insert($0) }
    numbers = HashedNumbers()
    for index in manifests.indices {
      try using(index).forEach { (number, line) throws(TransferError) in
        if counting.contains(number) { try take(number, line) }
      }
    }
  }
}

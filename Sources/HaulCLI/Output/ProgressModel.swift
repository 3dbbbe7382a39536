import HaulCore

/// All files of a run, and the totals for the bars. An update costs O(running files).
package struct ProgressModel: Sendable {
  /// Those that are shown: of a long input, some that have ended have made room for others.
  package private(set) var files: [FileProgress] = []
  /// How many files there have been.
  private var known = 0
  /// The total number of files; not all need to be known yet.
  package let expected: Int
  /// The indices of the running files, in order.
  private(set) var active: [Int] = []
  private(set) var ended = 0
  /// Since the run began.
  package var elapsed: Duration = .zero
  private var sum = Sum()

  package init(_ files: [FileProgress] = [], expected: Int) {
    self.expected = expected
    for file in files { append(file) }
  }

  /// - Returns: its index.
  @discardableResult
  package mutating func append(_ file: FileProgress) -> Int {
    files.append(file)
    known += 1
    count(file.share, at: files.count - 1)
    return files.count - 1
  }

  /// Puts a further file in the place of one that has ended, which still counts.
  mutating func replace(at index: Int, by file: FileProgress) {
    files[index] = file
    known += 1
    count(file.share, at: index)
  }

  package subscript(index: Int) -> FileProgress {
    get { files[index] }
    _modify {
      let former = files[index].share
      yield &files[index]
      let share = files[index].share
      // Most events do not change the totals.
      guard share != former else { return }
      subtract(former, at: index)
      count(share, at: index)
    }
  }

  /// Files that neither run nor have ended.
  var waiting: Int { max(0, expected - ended - active.count) }

  /// The total of all files; lengths are included only if all remaining ones are known.
  var total: TransferProgress {
    let isWhole = known == expected && sum.unknown == 0
    return TransferProgress(
      bytes: Int64(clamping: sum.bytes), total: isWhole ? Int64(clamping: sum.lengths) : nil,
      rate: active.reduce(0) { $0 + (files[$1].progress?.rate ?? 0) },
      connections: active.reduce(0) { $0 + (files[$1].progress?.connections ?? 0) })
  }

  /// Finished files, plus running ones as fractions.
  private var done: Double {
    active.reduce(Double(ended)) { $0 + (files[$1].progress?.fraction ?? 0) }
  }

  /// Estimated seconds until the last file: by bytes if all lengths are known, otherwise by files.
  var secondsLeft: Double? {
    if let left = total.secondsLeft { return left }
    let (done, seconds) = (done, Units.seconds(elapsed))
    guard total.total == nil, done > 0, done < Double(expected), seconds >= 1 else { return nil }
    return seconds / done * (Double(expected) - done)
  }

  /// The percentage of all bytes or, while lengths are unknown, of the files.
  var percent: Int? {
    total.percent ?? (expected > 0 ? min(100, Int(done * 100 / Double(expected))) : nil)
  }

  /// Wide enough that no number of files overflows it.
  private struct Sum {
    var bytes: Int128 = 0
    var lengths: Int128 = 0
    /// Files that have not ended, of unknown length.
    var unknown = 0
  }

  private mutating func count(_ share: FileProgress.Share, at index: Int) {
    change(by: 1, share)
    if share.isActive { active.insert(index, at: position(of: index)) }
  }

  private mutating func subtract(_ share: FileProgress.Share, at index: Int) {
    change(by: -1, share)
    if share.isActive { active.remove(at: position(of: index)) }
  }

  private mutating func change(by sign: Int, _ share: FileProgress.Share) {
    if share.hasEnded { ended += sign }
    if !share.hasEnded, share.length == nil { sum.unknown += sign }
    sum.bytes += Int128(sign) * Int128(share.bytes)
    sum.lengths += Int128(sign) * Int128(share.length ?? 0)
  }

  /// Its index among the running files, or where it belongs.
  private func position(of index: Int) -> Int {
    active.firstIndex { $0 >= index } ?? active.count
  }
}

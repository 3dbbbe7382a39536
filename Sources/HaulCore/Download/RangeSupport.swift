/// What is known of a server's ranges: some servers refuse, break or spoil requests for them.
package struct RangeSupport: Sendable {
  /// Whether ranges are requested at all.
  package private(set) var isUsed: Bool
  /// Whether a request for a range may have `If-Range`: some servers ignore such requests.
  package var mayBeConditional = true
  /// Whether a range that did not begin at the first byte came whole in this run.
  private var hasServed = false
  /// Whether the next requests have no range, for this attempt.
  private var isTurnWithout = false
  /// Whether the version began with such a request.
  private var beganWithout = false
  /// Whether nothing more is tried without a range.
  package private(set) var hasEnded = false

  private let isPossible: Bool

  /// - Parameter isPossible: not if bodies are decoded.
  package init(isPossible: Bool) { (self.isPossible, isUsed) = (isPossible, isPossible) }

  /// Whether the next request is for a range.
  package var areAskedFor: Bool { isUsed && !isTurnWithout }

  package mutating func disuse() { isUsed = false }

  package mutating func startOver() { isUsed = isPossible }

  /// An answer began a version. A retry without a range may have been lucky, not necessary: ranges
  /// are tried beside it.
  package mutating func begin(isWhole: Bool) {
    isUsed = !isWhole || isTurnWithout
    (beganWithout, isTurnWithout) = (isWhole && isTurnWithout, false)
  }

  package mutating func noteServed() { hasServed = true }

  /// Ranges are not the reason of failures, or the last thing to try without one was tried.
  package mutating func endTrials() { hasEnded = true }

  /// Whether a request for a range failed so that the server may serve the file to one without. A
  /// wait that it asked for is obeyed, and a host that refuses connections is not asked once more.
  /// - Parameter first: the first byte that was requested; nil for no range.
  package func mayBeReason(
    of error: TransferError, from first: Int64?, hasDelivered: Bool
  ) -> Bool {
    guard let first, !hasDelivered || first > 0, !hasServed, error.retryAfter == nil else {
      return false
    }
    guard let status = error.status else {
      return [.connectionLost, .stalled, .timeout, .tooManyRedirects].contains(error.code)
    }
    // 999 and the like are those of protections against robots.
    return [204, 300, 304].contains(status)
      || (400..<1000).contains(status) && ![401, 407, 408, 425, 429].contains(status)
  }

  /// Some servers fail at each range: every second attempt has none. Silence costs a whole timeout,
  /// so the next one has none.
  /// - Parameters:
  ///   - isReason: whether the range may be the reason of the failure.
  ///   - hasBytes: then the whole file would be sent again.
  package mutating func chooseNext(attempt: Int, isSilence: Bool, isReason: Bool, hasBytes: Bool) {
    let isTurn = isSilence ? isReason : attempt.isMultiple(of: 2) && (isTurnWithout || isReason)
    isTurnWithout = isTurn && (!hasBytes || beganWithout)
  }
}

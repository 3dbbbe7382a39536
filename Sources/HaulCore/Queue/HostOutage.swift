/// An outage: the host refuses connections, is not found, or stays silent.
struct HostOutage: Sendable {
  /// When the first attempt without an answer failed.
  let since: Instant
  /// Consecutive attempts without an answer.
  var failures = 0
  /// The end of the time in which no transfer may try; nil if one may.
  var until: Instant?
  /// The only transfer that is trying.
  var trialTransfer: TransferID?
  /// Whether its transfers try without waiting for each other.
  var allowsAllTransfers = false
  /// Whether its begin was noted.
  var isNoted = false

  /// Whether another transfer may start to try.
  var allowsTrial: Bool { allowsAllTransfers || (until == nil && trialTransfer == nil) }
}

/// What the transfers of a host know about its answers.
package struct HostHealth: Hashable, Sendable {
  /// Whether any of them got an answer.
  package var hasAnswered = false
  /// Consecutive attempts without an answer.
  package var failures = 0
  /// When the first of those failed.
  package var since: Instant?
  /// Whether it is another transfer's turn to try.
  package var isTrialOfAnotherTransfer = false

  package init() {}
}

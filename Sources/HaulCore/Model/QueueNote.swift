/// What happens to a queue and belongs to no transfer, for a log.
package enum QueueNote: Hashable, Sendable {
  /// A host counts as not answering. So many transfers wait for it, and one tries again after this
  /// time.
  case outage(host: String, transfers: Int, next: Duration)
  /// It has answered, so long after the first attempt without an answer.
  case answered(host: String, after: Duration)
  /// A window of the schedule has opened or closed, in words.
  case schedule(isOpen: Bool, String)

  /// One line; text from outside is not escaped.
  package var text: String {
    switch self {
    case .outage(let host, let transfers, let next):
      "\(host) does not answer: "
        + (transfers == 1 ? "1 transfer waits" : "\(transfers) transfers wait")
        + " for it; next attempt in \(Self.seconds(next)) s"
    case .answered(let host, let time): "\(host) answers again, after \(Self.seconds(time)) s"
    case .schedule(_, let text): text
    }
  }

  /// Rounded up.
  private static func seconds(_ time: Duration) -> Int {
    Int(exactly: min(max(time / .seconds(1), 0), 1e9).rounded(.up)) ?? 0
  }
}

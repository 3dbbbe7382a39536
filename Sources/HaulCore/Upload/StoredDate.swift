/// When a server stored a file, by the clock of this machine: the earliest time that its answer
/// allows. So neither a wrong clock there nor a slow answer makes an old file look new.
struct StoredDate: Sendable, Hashable {
  /// Seconds since 1970.
  let earliest: Double

  /// Both dates are the server's, of whole seconds: their difference is the age of the file.
  /// Without its present date, or with a date of the file after that, nothing says what its clock
  /// was.
  /// - Parameters:
  ///   - modified: the date of the file (RFC 9110, section 8.8.2; RFC 4918, section 15.7).
  ///   - elapsed: since the server was asked.
  init?(_ modified: String?, in answer: UploadAnswer, elapsed: Duration) {
    func date(_ text: String?) -> Int64? {
      text.flatMap { HTTPDate($0, now: answer.wallSeconds)?.secondsSince1970 }
    }
    guard let stored = date(modified), let now = date(answer.head.headers["Date"]),
      now >= stored, elapsed >= .zero
    else { return nil }
    let (seconds, parts) = elapsed.components
    let asked = answer.wallSeconds - Double(seconds) - Double(parts) / 1e18
    earliest = asked - Double(now - stored) - 1
  }

  /// Whether the file there was stored after the file here changed last.
  /// - Parameter changed: when its bytes, or what the system keeps of it, changed; in seconds since
  ///   1970.
  func isLater(than changed: Double) -> Bool { earliest > changed }
}

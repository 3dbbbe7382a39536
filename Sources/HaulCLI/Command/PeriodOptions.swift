import ArgumentParser
import HaulControl
import HaulCore

/// The period of which a command shows something.
struct PeriodOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Only from this time on: 2h or 7d ago, 22:00 (the last one), 2026-11-24T22:00, or that with "
        + "a zone at its end.", valueName: "TIME"))
  var since: String?

  @Option(help: ArgumentHelp("Only up to this time.", valueName: "TIME"))
  var until: String?

  /// Nil if none is given.
  /// - Parameter wallSeconds: the present time, in seconds since 1970.
  func period(at wallSeconds: Double) throws(UsageError) -> ClosedRange<Double>? {
    guard since != nil || until != nil else { return nil }
    let first = try since.map { (text) throws(UsageError) in
      try LocalTime.past(text, of: "--since", at: wallSeconds)
    }
    let last = try until.map { (text) throws(UsageError) in
      try LocalTime.past(text, of: "--until", at: wallSeconds)
    }
    guard first ?? 0 <= last ?? .infinity else {
      throw UsageError("--since is later than --until")
    }
    return (first ?? 0)...(last ?? .infinity)
  }
}

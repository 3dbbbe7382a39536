import ArgumentParser
import HaulCore

/// Limits of all transfers together.
struct LimitOptions: ParsableArguments {
  @Option(
    name: [.customShort("j", allowingJoined: true), .customLong("max-active")],
    help: ArgumentHelp("Files at once (default: 8).", valueName: "N"), transform: Self.count)
  var maximumActive: Int?

  @Option(
    name: .customLong("max-per-host"),
    help: ArgumentHelp("Files at once from one host (default: 4).", valueName: "N"),
    transform: Self.count)
  var maximumPerHost: Int?

  @Option(
    name: .customLong("limit-rate"),
    help: ArgumentHelp(
      "Bytes per second, all files together (default: no limit).", valueName: "RATE"),
    transform: ArgumentValue.bytes)
  var rateLimit: Int64?

  static func count(_ text: String) throws(UsageError) -> Int {
    try ArgumentValue.count(text, in: 1...1000)
  }
}

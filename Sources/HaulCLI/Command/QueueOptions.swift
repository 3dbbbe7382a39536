import ArgumentParser
import HaulControl
import HaulCore

/// The queue options of a transfer.
struct QueueOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "user-interactive, user-initiated, default, utility or background.", valueName: "PRIORITY"),
    completion: .list(TransferRequest.Priority.allCases.map(\.name)),
    transform: ArgumentValue.priority)
  var priority = TransferRequest.Priority.default

  @Option(help: ArgumentHelp("The group of the transfers.", valueName: "NAME"))
  var group: String?

  @Option(
    help: ArgumentHelp(
      "Start when that transfer is completed; may be repeated.", valueName: "ID"))
  var after: [String] = []

  @Option(
    help: ArgumentHelp(
      "Start at this time: 22:00 (the next one), 2026-11-24T22:00, or that with a zone at its end.",
      valueName: "TIME"))
  var at: String?

  @Option(
    help: ArgumentHelp(
      "Run again after each end: 30m, 12h, 1d, 'daily 03:00' or 'mon-fri 06:00'.",
      valueName: "TIMES"),
    transform: ArgumentValue.repetition)
  var every: Repetition?

  @Option(
    name: .customLong("id"),
    help: ArgumentHelp(
      "Your own name for the transfer; adding that name again finds it.", valueName: "NAME"))
  var identifier: String?

  @Option(
    name: .customLong("limit-rate"),
    help: ArgumentHelp(
      "Bytes per second of each download, within the limits of the daemon (default: no limit).",
      valueName: "RATE"),
    transform: ArgumentValue.rate)
  var rateLimit: Int64?

  @Flag(help: "Pause the transfers; 'haul resume' lets them start.")
  var paused = false

  @Flag(help: "Do not report progress of the transfers.")
  var noProgressEvents = false
}

import ArgumentParser
import HaulControl
import HaulCore

struct RemoveCommand: QueueCommand {
  static let name = CommandBody.Name.remove
  static let abstract = "Cancels transfers and removes them from the list; finished files stay."
  @OptionGroup var transfers: SelectionOptions

  @Flag(help: "What is completed, in the whole list or the group.")
  var completed = false

  @Flag(help: "What has failed; its part files are deleted.")
  var failed = false

  @Flag(help: "What was cancelled.")
  var cancelled = false

  @Option(
    help: ArgumentHelp(
      "Only what ended longer ago than this, like 12h or 30d (alone: completed or cancelled).",
      valueName: "TIME"),
    transform: ArgumentValue.duration)
  var olderThan: Duration?

  @Flag(help: "Also delete finished files that haul made and nobody has changed since.")
  var deleteFile = false

  func selection(at wallSeconds: Double) throws(UsageError) -> Selection {
    let flags: [(Bool, TransferResult.State)] = [
      (completed, .completed), (failed, .failed), (cancelled, .cancelled),
    ]
    let ends = flags.filter(\.0).map(\.1)
    guard !ends.isEmpty || olderThan != nil else { return try transfers.selection() }
    guard transfers.ids.isEmpty else {
      throw UsageError(
        "--completed, --failed, --cancelled and --older-than choose from the list or a --group: "
          + "give no ids")
    }
    guard !transfers.all || transfers.group == nil else {
      throw UsageError("give either --group or --all")
    }
    return Selection(
      group: transfers.group, all: transfers.group == nil ? true : nil,
      // What has failed may have bytes.
      ends: ends.isEmpty ? [.completed, .cancelled] : ends,
      endedBefore: olderThan.map { wallSeconds - $0 / .seconds(1) })
  }

  func apply(to body: inout CommandBody) { body.deletesFiles = deleteFile }
}

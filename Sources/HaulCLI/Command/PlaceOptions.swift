import ArgumentParser
import HaulCore

/// Where the file goes.
struct PlaceOptions: ParsableArguments {
  @Option(
    name: [.customShort("o", allowingJoined: true), .long],
    help: ArgumentHelp("The file to write; for one URL only.", valueName: "FILE"))
  var output: String?

  @Option(
    name: [.customShort("d", allowingJoined: true), .long],
    help: ArgumentHelp("The directory to write to; made if missing.", valueName: "DIR"))
  var directory: String?

  @Option(
    help: ArgumentHelp(
      "What to do when the name is taken: update, skip, rename, overwrite or fail (default: update).",
      valueName: "what"),
    transform: ArgumentValue.choice)
  var ifExists = TransferRequest.IfExists.update

  @Option(
    help: ArgumentHelp(
      "What a finished file survives: strict, a power cut too; relaxed, the death of haul (default: strict).",
      valueName: "how"),
    transform: ArgumentValue.choice)
  var durability = TransferRequest.Durability.strict

  @Flag(
    help: "Use the name that the server tells (Content-Disposition), made safe; -o goes before it.")
  var remoteName = false

  @Flag(help: "Forget the bytes of an earlier run.")
  var startOver = false

  @Option(
    help: ArgumentHelp("Refuse a longer file before fetching it.", valueName: "SIZE"),
    transform: ArgumentValue.bytes)
  var maxFilesize: Int64?

  func apply(to request: inout TransferRequest) {
    request.ifExists = ifExists
    request.durability = durability
    request.usesServerName = remoteName
    request.startOver = startOver
    request.maximumSize = maxFilesize
  }
}

import ArgumentParser
import HaulCore

/// What of the options of `get` changes what `probe` tells of it.
struct PlanOptions: ParsableArguments {
  @Flag(help: "The name that 'get --remote-name' would give the file.")
  var remoteName = false

  @Flag(help: "What 'get --allow-unverified' would do.")
  var allowUnverified = false

  @Option(
    name: [.customShort("x", allowingJoined: true), .long],
    help: ArgumentHelp("Connections of the file, at most (default: 8).", valueName: "N"),
    transform: { try ArgumentValue.count($0, in: 1...256) })
  var connections: Int?

  @Option(
    name: .customLong("min-split"),
    help: ArgumentHelp(
      "The smallest piece worth a connection of its own (default: 1M).", valueName: "SIZE"),
    transform: ArgumentValue.bytes)
  var minimumSplit: Int64?

  func apply(to request: inout DownloadRequest) {
    request.usesServerName = remoteName
    request.allowUnverified = allowUnverified
    if let connections { request.connections = connections }
    if let minimumSplit { request.minimumSplit = minimumSplit }
  }
}

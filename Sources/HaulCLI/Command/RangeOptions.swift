import ArgumentParser
import HaulCore

/// How a file is fetched in ranges.
struct RangeOptions: ParsableArguments {
  @Option(
    name: [.customShort("x", allowingJoined: true), .long],
    help: ArgumentHelp("Maximum number of connections per file (default: 8).", valueName: "N"),
    transform: { try ArgumentValue.count($0, in: 1...256) })
  var connections: Int?

  @Option(
    name: .customLong("min-split"),
    help: ArgumentHelp(
      "The smallest piece that gets its own connection (default: 1M).", valueName: "SIZE"),
    transform: ArgumentValue.bytes)
  var minimumSplit: Int64?

  func apply(to request: inout DownloadRequest) {
    if let connections { request.connections = connections }
    if let minimumSplit { request.minimumSplit = minimumSplit }
  }
}

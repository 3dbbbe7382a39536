import ArgumentParser
import HaulCore

/// Where the file goes.
struct DestinationOptions: ParsableArguments {
  @Option(
    name: [.customShort("o", allowingJoined: true), .long],
    help: ArgumentHelp(
      "The file, for one URL, or s3://bucket/key; with get, - is standard output.",
      valueName: "FILE"),
    completion: .file())
  var output: String?

  @Option(
    name: [.customShort("d", allowingJoined: true), .long],
    help: ArgumentHelp("The directory to write to; created if missing.", valueName: "DIR"),
    completion: .directory)
  var directory: String?

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: """
      Keep the path of the address below the directory: DIR/a/b.bin for https://host/a/b.bin, each \
      name made safe; out in a list overrides it.
      """)
  var keepPaths: Bool?

  @Option(
    name: .customLong("rule"),
    help: ArgumentHelp(
      """
      Where files go without -o, by name or host: '*.iso, *.img -> isos', 'example.org/ -> DIR'; \
      may be repeated, the first that matches counts. A relative DIR is below -d.
      """, valueName: "PATTERN -> DIR"))
  var rules: [String] = []

  @Option(
    help: ArgumentHelp(
      """
      If the name is taken: update = replace a file that haul downloaded from this URL, if the \
      server has another version, and save as 'NAME (1)' beside any other file (with -o: fail) \
      unless length and date match; skip = keep the file; rename = save as 'NAME (1)'; \
      overwrite = replace the file; fail (default: update).
      """,
      valueName: "what"),
    completion: .list(DownloadRequest.IfExists.allCases.map(\.rawValue)),
    transform: ArgumentValue.choice)
  var ifExists: DownloadRequest.IfExists?

  @Option(
    help: ArgumentHelp(
      """
      What a finished file survives: strict = a power cut and the death of haul; relaxed = only \
      the death of haul, but faster (default: strict).
      """,
      valueName: "how"),
    completion: .list(DownloadRequest.Durability.allCases.map(\.rawValue)),
    transform: ArgumentValue.choice)
  var durability = DownloadRequest.Durability.strict

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help:
      "Use the name that the server sends (Content-Disposition), made safe; -o overrides it.")
  var remoteName: Bool?

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Discard the bytes of an earlier run and start over.")
  var startOver: Bool?

  @Option(
    help: ArgumentHelp(
      "Refuse a file that is longer than this (default: no limit).", valueName: "SIZE"),
    transform: ArgumentValue.bytes)
  var maxFilesize: Int64?

  func apply(to request: inout DownloadRequest) {
    request.ifExists = ifExists ?? .update
    request.durability = durability
    request.usesSuggestedName = remoteName ?? false
    request.startOver = startOver ?? false
    request.maximumSize = maxFilesize
  }
}

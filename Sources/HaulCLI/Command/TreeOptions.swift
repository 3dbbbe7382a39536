import ArgumentParser

/// What of a directory is uploaded.
struct TreeOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      The symbolic links in a directory: skip = leave them out; follow = upload what they lead to \
      (default: leave them out, and end with status 1).
      """, valueName: "what"),
    completion: .list(UploadTree.Links.allCases.map(\.rawValue)), transform: ArgumentValue.choice)
  var links: UploadTree.Links?
}

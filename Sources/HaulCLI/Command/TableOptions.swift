import ArgumentParser

/// How lists are written.
struct TableOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      The columns of a .csv, .tsv or .jsonl list: url, out, dir, checksum, limit-rate, \
      max-per-host, each with its name in the list (default: the same names).
      """, valueName: "url=NAME,..."),
    transform: InputTable.columns)
  var columns: [InputTable.Meaning: String] = [:]

  @Option(
    help: ArgumentHelp(
      "How the lists are written (default: by the end of the name, else list).",
      valueName: "how"),
    completion: .list(InputTable.Format.allCases.map(\.rawValue)), transform: ArgumentValue.choice)
  var inputFormat: InputTable.Format?
}

import ArgumentParser
import HaulCore

/// How lists are written.
struct TableOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      The columns of a .csv, .tsv or .jsonl list: url, out, dir, checksum, header, limit-rate, \
      max-per-host, bearer-file, cookie-file, each with its name in the list (default: the same \
      names), and user and, for the queue, group (default: none).
      """, valueName: "url=NAME,..."),
    transform: InputTable.columns)
  var columns: [InputTable.Meaning: String] = [:]

  @Option(
    help: ArgumentHelp(
      "How the lists are written (default: by the end of the name, else list).",
      valueName: "how"),
    completion: .list(InputTable.Format.allCases.map(\.rawValue)), transform: ArgumentValue.choice)
  var inputFormat: InputTable.Format?

  /// How lists are written that are read together, as files.
  func format(of lists: [String]) throws(UsageError) -> InputTable.Format {
    guard !lists.contains(where: { $0.isEmpty || $0.hasByte(0) }) else {
      throw UsageError("the name of a file is empty or has a NUL")
    }
    guard !lists.contains(where: { $0 == "-" }) else {
      throw UsageError("standard input can be read only once; save the list to a file")
    }
    let formats = Set(lists.map { inputFormat ?? InputTable.Format(of: ListServer.path(of: $0)) })
    guard formats.count < 2 else {
      throw UsageError("the lists are written in different ways; give each by itself")
    }
    let format = formats.first ?? .jsonl
    guard format != .list || columns.isEmpty else {
      throw UsageError("a list of lines has no columns; say what it is: --input-format")
    }
    return format
  }
}

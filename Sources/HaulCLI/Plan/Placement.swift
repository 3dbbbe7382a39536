import HaulCore

/// The rules by which files go to directories; the first one that matches counts.
struct Placement: Sendable {
  private let rules: [(rule: PlacementRule, directory: String)]
  /// How many files each rule got, and one of their names.
  private var placed: [(count: Int, name: String)]

  init(_ options: DestinationOptions, _ sources: CommandSources) throws(UsageError) {
    var rules: [(rule: PlacementRule, directory: String)] = []
    for text in options.rules {
      guard let rule = PlacementRule(text) else {
        throw UsageError(
          "--rule is written '*.iso -> DIR', 'example.org/ -> DIR', 'example.org:8080/ -> DIR' or "
            + "'example.org/*.zip -> DIR', with commas between several; DIR must not lead up")
      }
      guard options.output == nil else {
        throw UsageError("--rule and -o contradict each other: -o names the file")
      }
      rules.append((rule, try Self.directory(rule.directory, options, sources)))
    }
    (self.rules, placed) = (rules, rules.map { _ in (0, "") })
  }

  private static func directory(
    _ directory: String, _ options: DestinationOptions, _ sources: CommandSources
  ) throws(UsageError) -> String {
    if directory.isByteEqual("~") || directory.hasBytePrefix("~/") {
      guard let home = sources.environment["HOME"], home.isAbsolutePath else {
        throw UsageError("--rule: HOME is not set, so ~ is no directory")
      }
      return home + directory.dropFirst()
    }
    guard !directory.isAbsolutePath, let base = options.directory else { return directory }
    return base.appendingPath(directory)
  }

  /// Where the file of an address goes; nil if no rule is for it. What a list of a server has stays
  /// below the directory of the command.
  func directory(of item: GetItem) -> String? { index(of: item).map { rules[$0].directory } }

  private func index(of item: GetItem) -> Int? {
    guard !item.hasOwnDestination else { return nil }
    return rules.firstIndex { rule, _ in
      let mayLeave = item.server == nil
      let leaves = rule.directory.isAbsolutePath || rule.directory.hasBytePrefix("~")
      return (mayLeave || !leaves) && rule.matches(item.url)
    }
  }

  /// Counts an item.
  mutating func note(_ item: GetItem) {
    guard let index = index(of: item) else { return }
    placed[index] = (placed[index].count + 1, FileName(item.url).text)
  }

  /// For the user: which rule was for what.
  var notes: [String] {
    zip(rules, placed).compactMap { rule, placed in
      guard placed.count > 0 else { return nil }
      let what = placed.count == 1 ? "\(placed.name) goes" : "\(Units.count(placed.count)) files go"
      return "\(what) to \(rule.directory), by the rule \(rule.rule.text)"
    }
  }
}

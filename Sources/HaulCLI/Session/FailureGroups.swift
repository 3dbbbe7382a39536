import HaulCore

/// Equal failures of many files of one host: the first ones have a line each, the others one line
/// together at the end. Beyond a number of groups, each failure has a line of its own. Files that
/// were not tried are only counted: nothing is wrong with any of them.
struct FailureGroups: Sendable {
  private struct Key: Hashable {
    let host: String
    let reason: String
  }

  private struct Group {
    /// Those with lines of their own.
    var urls: [ResourceURL] = []
    /// The names of the others.
    var names: [String] = []
    /// Those whose names are not kept.
    var unnamed = 0
  }

  private var groups: [Key: Group] = [:]
  private var order: [Key] = []
  /// How many are in no group.
  private var others = 0

  /// So many lines show what the failure is about.
  private static let shown = 3
  private static let maximumNames = 1000
  private static let namesInLine = 50
  private static let maximumGroups = 1000

  /// Notes a failure; true if it gets a line of its own.
  mutating func note(_ error: TransferError, of url: ResourceURL, name: String) -> Bool {
    let key = Key(host: url.origin.authority, reason: error.commandLineText)
    if groups[key] == nil {
      guard order.count < Self.maximumGroups else {
        others += 1
        return true
      }
      order.append(key)
    }
    var group = groups.removeValue(forKey: key) ?? Group()
    defer { groups[key] = group }
    if error.code == .notTried {
      group.unnamed += 1
      return false
    }
    if group.urls.count < Self.shown {
      group.urls.append(url)
      return true
    }
    if group.names.count < Self.maximumNames {
      group.names.append(name)
    } else {
      group.unnamed += 1
    }
    return false
  }

  /// The lines at the end: of all failures for a summary, otherwise of those without a line.
  func lines(ofAll: Bool) -> [String] {
    let lines = order.flatMap { key -> [String] in
      guard let group = groups[key] else { return [] }
      let each = group.urls.map { "haul: failed: \($0.redacted): \(key.reason)" }
      return ((ofAll ? each : []) + Self.together(group, key)).map(Messages.shown)
    }
    guard ofAll, others > 0 else { return lines }
    return lines + ["haul: failed: \(Units.count(others)) more files, each with a line above"]
  }

  private static func together(_ group: Group, _ key: Key) -> [String] {
    var lines = stride(from: 0, to: group.names.count, by: namesInLine).map { start in
      let some = group.names[start..<min(start + namesInLine, group.names.count)]
      let count = some.count == 1 ? "1 more file" : "\(some.count) more files"
      return "haul: failed: \(key.host): \(count): \(key.reason): \(some.joined(separator: ", "))"
    }
    if group.unnamed > 0 {
      let what = group.names.isEmpty ? group.unnamed == 1 ? "file" : "files" : "more"
      lines.append(
        "haul: failed: \(key.host): \(Units.count(group.unnamed)) \(what): \(key.reason)")
    }
    return lines
  }
}

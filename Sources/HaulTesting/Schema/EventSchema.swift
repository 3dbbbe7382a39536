import FoundationEssentials

/// The published schema of `--json` lines, and the rules for several lines.
package struct EventSchema: Sendable {
  private let schema: JSONSchema

  /// Reads `docs/schema/events.json` of this repository.
  package init() throws { schema = try JSONSchema(published: "events.json") }

  /// The violations in one line; empty if it is valid.
  package func violations(line: String) throws -> [String] {
    try schema.violations(of: try JSONValue(parsing: line))
  }

  /// The violations in an event or a transfer of the control interface.
  /// - Parameter definition: `event` or `transfer`.
  package func violations(_ text: String, of definition: String) throws -> [String] {
    try schema.violations(of: try JSONValue(parsing: text), definition: definition)
  }

  /// The violations in the whole output of a run of `get` or `put`. Each line must follow the
  /// schema. `seq` counts from 1 without a gap, and each event has an `index`. Each transfer is
  /// added first and finished at most once. The last line is the only summary.
  package func violations(output: String) throws -> [String] {
    let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.last == "" else { return ["the output does not end with a line break"] }
    var problems: [String] = []
    var added: Set<JSONValue> = []
    var finished: Set<JSONValue> = []
    for (index, line) in lines.dropLast().enumerated() {
      let value = try JSONValue(parsing: String(line))
      problems += try schema.violations(of: value).map { "line \(index + 1): \($0)" }
      if value["seq"] != .integer(Int64(index + 1)) {
        problems.append("line \(index + 1): seq is out of order")
      }
      let isLast = index == lines.count - 2
      if (value["type"]?.string == "summary") != isLast {
        problems.append("line \(index + 1): the summary is the last line, and only that")
      }
      guard let id = value["id"] else { continue }
      if value["index"] == nil { problems.append("line \(index + 1): there is no index") }
      if value["type"]?.string == "added" { added.insert(id) }
      if !added.contains(id) { problems.append("line \(index + 1): the transfer is not known") }
      if value["type"]?.string == "finished", !finished.insert(id).inserted {
        problems.append("line \(index + 1): the transfer has ended before")
      }
    }
    return lines.count > 1 ? problems : ["there is no line"]
  }
}

extension JSONSchema {
  /// Reads a file of `docs/schema` of this repository.
  package init(published name: String) throws {
    var root = URL(filePath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    let text = try Data(contentsOf: root.appending(path: "docs/schema/\(name)"))
    self.init(try JSONValue(parsing: String(decoding: text, as: UTF8.self)))
  }
}

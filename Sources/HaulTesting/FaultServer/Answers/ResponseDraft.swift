/// An answer that faults may still change, beginning with the correct one.
struct ResponseDraft {
  enum Payload: Equatable {
    case content(Range<Int64>)
    case bytes([UInt8])
    case endless
  }

  enum Framing: Equatable {
    case length
    case chunked(terminal: Bool, trailers: [String])
    case closeDelimited(version: String, closeNotify: Bool)
  }

  struct Field: Equatable {
    var name: String
    var value: [UInt8]
  }

  var content: SeededContent
  var status: Int
  var reason: [UInt8]?
  var fields: [Field] = []
  /// The length of the resource in `Content-Range`.
  var total: Int64
  /// The range that the answer claims to contain; nil unless it is a 206.
  var claimed: Range<Int64>?
  var contentRange: String? = "bytes {first}-{last}/{total}"
  var payload: Payload
  var isMultipart = false
  var extraBytes: Int64 = 0
  var extraIsDeclared = true
  var framing = Framing.length
  var declaredDifference: Int64 = 0
  var contentLengths: [String]?
  var interim: Answer.Interim?
  var stops: [Answer.Stop] = []
  var pace: Pacer.Pace?
  var raw: (bytes: [UInt8], then: Fault.Ending)?
  var closesAfterwards = false
  var announcesClose = false
  /// HEAD, 204 and 304: the head may have a length, but there is no body.
  var hasNoBody = false
  var port: Int

  mutating func set(_ name: String, _ value: String) {
    let lowered = name.lowercased()
    let field = Field(name: name, value: Array(value.utf8))
    guard let index = fields.firstIndex(where: { $0.name.lowercased() == lowered }) else {
      fields.append(field)
      return
    }
    fields[index] = field
  }

  mutating func add(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: Array(value.utf8)))
  }

  mutating func remove(_ name: String) {
    let lowered = name.lowercased()
    fields.removeAll { $0.name.lowercased() == lowered }
  }

  /// The name and value of a `Name: value` line.
  static func split(_ line: String) -> (name: String, value: String) {
    let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let value = parts.count == 2 ? parts[1].drop { $0 == " " } : ""
    return (String(parts[0]), String(value))
  }

  /// The text with its placeholders replaced.
  func expand(_ template: String, length: Int64 = 0) -> String {
    guard template.contains("{") else { return template }
    let values: [(String, Int64)] = [
      ("{first}", claimed?.lowerBound ?? 0),
      ("{last}", (claimed?.upperBound ?? total) - 1),
      ("{total}", total), ("{length}", length), ("{port}", Int64(port)),
    ]
    return values.reduce(template) { text, value in
      text.split(separator: value.0, omittingEmptySubsequences: false)
        .joined(separator: String(value.1))
    }
  }
}

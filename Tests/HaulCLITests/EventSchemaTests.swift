import HaulCLI
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// The schema refuses events outside the contract.
@Suite struct EventSchemaTests {
  @Test(arguments: [
    (#""by":"user""#, #""by":"nobody""#), (#""by":"user""#, #""by":null"#),
    (#","by":"user""#, ""), (#""seq":1"#, #""seq":0"#), (#""seq":1"#, #""seq":1.5"#),
    (#""seq":1"#, #""seq":"1""#), (#""type":"paused""#, #""type":"stopped""#),
    (#""type":"paused""#, #""type":"summary""#), (#""type":"paused","#, ""),
    (#""id":"0123ABCD""#, #""id":"0123ABCU""#), (#""id":"0123ABCD""#, #""id":"0123ABCDE""#),
    (#""time":0,"#, ""), (#""time":0"#, #""time":"1970-01-01T00:00:00.000Z""#),
    (#""index":1"#, #""index":0"#), ("https://h/x", "https://user@h/x"),
    (#""by":"user""#, #""by":"user","more":1"#),
  ])
  func `a line that breaks one rule is refused`(part: String, replacement: String) throws {
    let line = #"""
      {"type":"paused","seq":1,"time":0,"id":"0123ABCD",\#
      "index":1,"url":"https://h/x","by":"user"}
      """#
    let schema = try EventSchema()
    #expect(try schema.violations(line: line) == [])
    let start = try #require(line.firstRange(of: part))
    let broken = line.replacingCharacters(start, with: replacement)
    #expect(try schema.violations(line: broken) != [])
  }

  @Test func `an unknown keyword is an error, not a success`() throws {
    for text in [
      #"{"maxLength":3}"#, #"{"type":"text"}"#, ##"{"$ref":"#/$defs/none"}"##,
      #"{"additionalProperties":true}"#,
    ] {
      let schema = JSONSchema(try JSONValue(parsing: text))
      #expect(throws: JSONSchema.InvalidSchema.self) {
        try schema.violations(of: try JSONValue(parsing: "{}"))
      }
    }
  }

  @Test
  func `a whole output needs rising numbers, known transfers, one end each and one summary`() throws
  {
    let schema = try EventSchema()
    let event = try EventMaker()
    func content(_ event: TransferEvent, index: Int?) -> JSONLines.Content {
      .event(EventDocument(event, at: 0), index: index)
    }
    let contents = [
      content(event(.added(target: nil)), index: 1), content(event.failed(), index: 1),
      .summary(RunCounts()),
    ]
    #expect(try schema.violations(output: Self.output(contents)) == [])
    for wrong: [JSONLines.Content] in [
      [], Array(contents.dropLast()), Array(contents.dropFirst()),
      [contents[0], contents[1], contents[1], contents[2]], contents + [contents[2]],
      [contents[0], content(event.failed(), index: nil), contents[2]],
    ] {
      #expect(try schema.violations(output: Self.output(wrong)) != [])
    }
    let right = try Self.output(contents)
    #expect(try schema.violations(output: String(right.dropLast())) != [])
    #expect(try schema.violations(output: right + right) != [])
  }

  private static func output(_ contents: [JSONLines.Content]) throws -> String {
    var lines = JSONLines()
    return try contents.map { try lines.line($0, wallSeconds: 0) }.joined()
  }
}

extension String {
  fileprivate func replacingCharacters(
    _ range: Range<String.Index>, with replacement: String
  ) -> String {
    String(self[..<range.lowerBound]) + replacement + String(self[range.upperBound...])
  }
}

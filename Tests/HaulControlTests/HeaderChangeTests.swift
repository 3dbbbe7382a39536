import Foundation
import HaulControl
import HaulCore
import Testing

/// Header fields of a transfer that are set or removed.
@Suite struct HeaderChangeTests {
  private func changed(_ json: String) throws -> [String] {
    let body = try StrictJSON.decode(ChangeBody.self, from: Data(#"{"headers":\#(json)}"#.utf8))
    var fields = HeaderFields([("Cookie", "a=1"), ("Authorization", "Bearer old"), ("X", "1")])
    try fields.apply(try #require(body.headers))
    return fields.fields.map { "\($0.name): \($0.value)" }
  }

  @Test func `replace those of the same name, in either case, and keep the others`() throws {
    #expect(
      try changed(#"[{"name":"authorization","value":"Bearer new"}]"#)
        == ["Cookie: a=1", "X: 1", "authorization: Bearer new"])
    #expect(
      try changed(#"[{"name":"COOKIE","value":null},{"name":"x"}]"#) == [
        "Authorization: Bearer old"
      ])
    #expect(
      try changed(#"[{"name":"Cookie","value":"b"},{"name":"Cookie","value":"c"}]"#)
        == ["Authorization: Bearer old", "X: 1", "Cookie: b", "Cookie: c"])
    #expect(try changed("[]").count == 3)
  }

  @Test(arguments: [
    #"[{"name":"Host","value":"h"}]"#, #"[{"name":"a b","value":"c"}]"#,
    #"[{"name":"A","value":"secret\r\nB: c"}]"#,
  ])
  func `that cannot be sent are refused, without their values`(json: String) throws {
    let problem = #expect(throws: Problem.self) { try changed(json) }
    #expect(problem?.status == 422 && problem?.detail.contains("secret") == false)
  }

  @Test func `have no other keys, and a number of them is too many`() {
    #expect(throws: StrictJSON.Malformed.self) { try changed(#"[{"name":"A","valeu":"b"}]"#) }
    let many = Array(repeating: #"{"name":"A","value":"b"}"#, count: 101).joined(separator: ",")
    #expect(throws: StrictJSON.Malformed.self) { try changed("[\(many)]") }
  }
}

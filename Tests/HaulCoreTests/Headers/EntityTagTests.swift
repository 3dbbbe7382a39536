import HaulCore
import Testing

@Suite struct EntityTagTests {
  @Test(arguments: [
    "", "abc", "\"abc", "abc\"", "w/\"abc\"", "W/abc", "W/ \"a\"", "\"a b\"", "\"a\"\"",
    "\"a\", \"b\"", "\"a\u{7F}\"", "\"a\nb\"", "*",
  ])
  func `Malformed tags are refused`(text: String) { #expect(EntityTag(text) == nil) }

  @Test func `Tags compare as in the table of the RFC`() throws {
    let table: [(String, String, strong: Bool, weak: Bool)] = [
      ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "W/\"2\"", false, false),
      ("W/\"1\"", "\"1\"", false, true), ("\"1\"", "\"1\"", true, true),
      ("\"\"", " \"\"\t", true, true),
    ]
    for row in table {
      let left = try #require(EntityTag(row.0))
      let right = try #require(EntityTag(row.1))
      #expect(left.stronglyMatches(right) == row.strong)
      #expect(right.stronglyMatches(left) == row.strong)
      #expect(left.weaklyMatches(right) == row.weak)
    }
  }

  @Test func `Canonically equal tags with different bytes do not match`() throws {
    let composed = try #require(EntityTag("\"\u{E9}\""))
    let decomposed = try #require(EntityTag("\"e\u{301}\""))
    #expect(!composed.weaklyMatches(decomposed))
  }
}

import HaulCore
import Testing

/// How the AWS tools split a command line: the rows are answers of Python's `shlex.split`.
@Suite struct CommandWordsTests {
  @Test(
    arguments: [
      ("", []), ("  ", []), ("a b\tc", ["a", "b", "c"]), ("'a  b' c", ["a  b", "c"]),
      (#""a b"c"#, ["a bc"]), (#"a\ b"#, ["a b"]), (#"'a\b'"#, [#"a\b"#]),
      (#""a\"b\\c\d""#, [#"a"b\c\d"#]), ("''", [""]), (#"a "" b"#, ["a", "", "b"]),
      ("$HOME `x` ~ *", ["$HOME", "`x`", "~", "*"]), ("a;b|c", ["a;b|c"]), ("# a", ["#", "a"]),
      ("é 'ü'", ["é", "ü"]), ("'a", nil), (#""a"#, nil), (#"a\"#, nil),
    ] as [(String, [String]?)])
  func `Quotes and escapes are those of a shell, and nothing else is`(
    text: String, words: [String]?
  ) {
    #expect(CommandWords.split(text) == words)
  }
}

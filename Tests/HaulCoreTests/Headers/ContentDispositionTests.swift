import HaulCore
import Testing

@Suite struct ContentDispositionTests {
  @Test(
    "The suggested name is read",
    arguments: [
      ("attachment", nil), ("attachment;", nil), ("attachment; filename=a.txt", "a.txt"),
      ("Attachment ;FileName = \"a b.txt\" ", "a b.txt"), ("inline; filename=\"\"", ""),
      ("attachment; filename=\"a\\\"b\\\\c\"", "a\"b\\c"),
      ("attachment; filename=\"a%20b\"", "a%20b"), ("attachment; filename=\"naïve\"", "naïve"),
      ("attachment; filename*=UTF-8''%e2%82%ac%20rates", "€ rates"),
      ("attachment; filename*=iso-8859-1'en'%A3%20rates", "£ rates"),
      ("attachment; filename=old; filename*=utf-8''new", "new"),
      ("attachment; filename*=utf-8''new; filename=old", "new"),
      ("attachment; filename*=utf-8''%FF; filename=old", "old"),
      ("attachment; filename*=koi8-r''%C1; filename=old", "old"),
      ("attachment; filename*=UTF-8''%2; filename=old", "old"),
      ("attachment; filename*=UTF-8; filename=old", "old"),
      ("attachment; filename*=UTF-8''%ff", nil), ("attachment; x=y; filename=a; z=\"q;r\"", "a"),
      ("attachment; filename=\"../../etc/passwd\"", "../../etc/passwd"),
    ] as [(String, String?)])
  func name(text: String, name: String?) throws {
    let value = try #require(ContentDisposition(text))
    #expect(value.fileName == name)
  }

  @Test(
    "A malformed field is refused",
    arguments: [
      "", ";", "\"attachment\"", "attachment; filename", "attachment; filename=",
      "attachment; filename=a b", "attachment; filename=\"a", "attachment; filename=\"a\\\"",
      "attachment; filename=a; filename=b", "attachment; filename=\"a\nb\"",
      "attachment; =a", "attachment filename=a", "attachment; filename=\"a\"b",
    ])
  func malformed(text: String) { #expect(ContentDisposition(text) == nil) }

  @Test func `The disposition type becomes lower case`() {
    #expect(ContentDisposition("INLINE")?.type == "inline")
  }
}

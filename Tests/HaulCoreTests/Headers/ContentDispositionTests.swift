import HaulCore
import Testing

@Suite struct ContentDispositionTests {
  @Test(
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
      ("attachment; x=y; filename=a; z=\"q;r\"", "a"),
      ("attachment; filename=\"../../etc/passwd\"", "../../etc/passwd"),
    ] as [(String, String?)])
  func `The suggested name is read`(text: String, name: String?) throws {
    let value = try #require(ContentDisposition(text))
    #expect(value.fileName == name)
  }

  @Test(
    arguments: [
      // Without quotes
      ("attachment; filename=my report final.pdf", "my report final.pdf"),
      ("attachment; filename=a (1)[2]@b=c.txt ; x=y", "a (1)[2]@b=c.txt"),
      ("attachment; filename=\u{442}\u{435}\u{441}\u{442}.pdf", "\u{442}\u{435}\u{441}\u{442}.pdf"),
      // Without a type, or without a semicolon
      ("filename=a.txt", "a.txt"), ("; filename=\"a;b\"", "a;b"), ("attachment filename=a", "a"),
      // Without an end, or with more after it
      ("attachment; filename=\"a", "a"), ("attachment; filename=\"a\"b; x=y", "a"),
      // Twice
      ("attachment; filename=a; filename=b", "a"), ("attachment; =b; filename=a", "a"),
      // Backslashes of a path
      (#"attachment; filename="C:\Users\anna\x.txt""#, #"C:\Users\anna\x.txt"#),
      (#"attachment; filename="\\server\x \"y\".txt""#, #"\server\x "y".txt"#),
      // Another charset, or bytes that are not of it
      ("attachment; filename*=UTF-8''caf%E9", "caf\u{E9}"),
      ("attachment; filename*=GBK''%BB%AA", "\u{BB}\u{AA}"),
      ("attachment; filename*=koi8-r''%C1%81", "%C1%81"),
      // Not encoded, or not all of it
      ("attachment; filename*=UTF-8''na\u{EF}ve.txt", "na\u{EF}ve.txt"),
      ("attachment; filename*=iso-8859-1''na\u{EF}ve.txt", "na\u{EF}ve.txt"),
      ("attachment; filename*=iso-8859-1''%A3 rates (1).txt", "\u{A3} rates (1).txt"),
      ("attachment; filename*=UTF-8''a%20(1).txt; x=y", "a (1).txt"),
      ("attachment; filename*=\"UTF-8''100 % of it\"", "100 % of it"),
      ("attachment; filename*=UTF-8''a (1).txt; filename=b", "b"),
      // Encoded words
      ("attachment; filename=\"=?UTF-8?B?w6kucGRm?=\"", "\u{E9}.pdf"),
      (
        "attachment; filename=\"=?iso-8859-1?Q?caf=E9_a?= =?utf-8?q?=3F=25?=.txt\"",
        "caf\u{E9} a?%.txt"
      ),
      (
        "attachment; filename=\"a =?koi8-r?B?wQ==?= =?utf-8?B?*?=\"",
        "a =?koi8-r?B?wQ==?= =?utf-8?B?*?="
      ),
      // Nothing to read
      ("attachment; filename", nil), ("attachment; filename=", nil),
      ("attachment; filename=\"a\u{FFFD}\"", nil),
    ] as [(String, String?)])
  func `A name is read although the field is malformed`(text: String, name: String?) throws {
    let value = try #require(ContentDisposition(text))
    #expect(value.fileName == name)
  }

  @Test(arguments: ["", ";", "\"a\"", ";=a"])
  func `A field of which nothing can be read is refused`(text: String) {
    #expect(ContentDisposition(text) == nil)
  }

  @Test func `A repeated field counts only with one value`() {
    func name(_ values: String...) -> String? {
      ContentDisposition(HeaderFields(values.map { ("content-disposition", $0) }))?.fileName
    }
    #expect(name("filename=a", "filename=a") == "a")
    #expect(name("filename=a", "filename=b") == nil)
  }

  @Test func `The disposition type becomes lower case`() {
    #expect(ContentDisposition("INLINE")?.type == "inline")
  }
}

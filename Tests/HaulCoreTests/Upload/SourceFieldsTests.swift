import HaulCore
import Testing

/// The fields that an object of a store gets from its source.
@Suite struct SourceFieldsTests {
  private static func kept(_ fields: [(String, String)]) throws -> [String] {
    ResponseHead(
      status: 200, headers: HeaderFields(fields), url: try ResourceURL("https://h.example/f")
    ).fieldsOfBytes.fields.map { "\($0.name): \($0.value)" }
  }

  @Test func `What readers need to know of the bytes is kept, and nothing else`() throws {
    let fields = [
      ("content-type", "text/html; charset=utf-8"), ("content-encoding", "gzip"),
      ("content-language", "de, en"), ("cache-control", "max-age=60"),
      ("content-disposition", "attachment; filename=\"a b.txt\""),
    ]
    let other = [
      ("ETag", "\"x\""), ("Set-Cookie", "a=b"), ("Authorization", "x"), ("x-amz-acl", "public"),
      ("Content-Length", "5"), ("Content-MD5", "x"), ("x-amz-meta-a", "b"), ("Expires", "0"),
    ]
    #expect(
      try Self.kept(other + fields) == [
        "Content-Type: text/html; charset=utf-8", "Content-Encoding: gzip",
        "Content-Language: de, en", "Cache-Control: max-age=60",
        "Content-Disposition: attachment; filename=\"a b.txt\"",
      ])
  }

  @Test(arguments: ["a\u{1}b", "a\tb", "a\r\nx-amz-acl: public", "gr\u{FC}n", "a\u{7F}", "\0", ""])
  func `A value that is not printable ASCII is left out`(value: String) throws {
    for name in ["Content-Language", "Cache-Control", "Content-Disposition", "Content-Encoding"] {
      let kept = try Self.kept([(name, value), ("Content-Type", "a/b")])
      // White space separates codings.
      #expect(kept == ["Content-Type: a/b"] || name == "Content-Encoding" && value == "a\tb")
    }
    #expect(try Self.kept([("Content-Type", "a/b\(value)"), ("Content-Type", "a/c")]) == [])
    if !value.isEmpty { #expect(try Self.kept([("Content-Type", "a/b\(value)")]) == []) }
  }

  @Test func `Two lines of a list are one value; two types are none`() throws {
    #expect(
      try Self.kept([("Cache-Control", "no-cache"), ("cache-control", "private")])
        == ["Cache-Control: no-cache, private"])
    #expect(try Self.kept([("Content-Type", "a/b"), ("Content-Type", "a/c")]) == [])
    #expect(try Self.kept([("Content-Type", "text")]) == [])
  }

  @Test(arguments: [
    ("aws-chunked", nil), ("gzip, aws-chunked", "gzip"), ("AWS-Chunked,br", "br"),
    ("identity", nil), ("deflate, gzip", "deflate, gzip"),
  ])
  func `The form of a request to a store is no coding of the bytes`(
    coding: String, kept: String?
  ) throws {
    #expect(
      try Self.kept([("Content-Encoding", coding)])
        == (kept.map { ["Content-Encoding: \($0)"] } ?? []))
  }

  @Test func `More than a store takes is left out`() throws {
    let long = String(repeating: "a", count: 2000)
    #expect(
      try Self.kept([("Content-Language", long), ("Cache-Control", long), ("Content-Type", "a/b")])
        == ["Content-Type: a/b", "Content-Language: \(long)"])
  }
}

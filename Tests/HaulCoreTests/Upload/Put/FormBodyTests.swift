import HaulCore
import Testing

/// The bytes of a form.
@Suite struct FormBodyTests {
  private func body(_ parts: FormPart..., lengths: Int64...) -> FormBody {
    var random = SplitMix64(seed: 7)
    return FormBody(parts, lengths: lengths, using: &random)
  }

  private func text(_ body: FormBody) -> String {
    body.pieces.map { piece in
      switch piece {
      case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
      case .file(let number, let range): "<\(number):\(range.lowerBound)-\(range.upperBound)>"
      }
    }.joined()
  }

  @Test func `Fields and files follow each other between boundaries; the length is known`() {
    let body = body(
      FormPart("n", .text("v")), FormPart("a", .file("/d/x.txt")), FormPart("b", .file("y")),
      lengths: 5, 0)
    let boundary = String(body.contentType.drop { $0 != "=" }.dropFirst())
    let head = "--\(boundary)\r\nContent-Disposition: form-data; name="
    let type = "\r\nContent-Type: application/octet-stream\r\n\r\n"
    let text = "\r\nContent-Type: text/plain\r\n\r\n"
    let expected = [
      "\(head)\"n\"\r\n\r\nv\r\n", "\(head)\"a\"; filename=\"x.txt\"\(text)<0:0-5>\r\n",
      "\(head)\"b\"; filename=\"y\"\(type)<1:0-0>\r\n", "--\(boundary)--\r\n",
    ]
    #expect(self.text(body) == expected.joined())
    let written = self.text(body).utf8.count - "<0:0-5>".utf8.count - "<1:0-0>".utf8.count
    #expect(body.length == Int64(written + 5))
  }

  @Test func `Quotes and line ends in names are escaped, and nothing else is`() {
    let long = String(repeating: "é", count: 150)
    let body = body(
      FormPart("a\"\r\nb", .file("/d/\"x\"\n%\\;ü")), FormPart(long, .file("/d/\(long)")),
      lengths: 1, 1)
    #expect(text(body).contains(#"name="a%22%0D%0Ab"; filename="%22x%22%0A%\;ü""#))
    #expect(text(body).contains("name=\"\(long)\"; filename=\"\(long)\""))
  }

  @Test func `Each form has a boundary of its own`() {
    var random = SplitMix64(seed: 7)
    let first = FormBody([FormPart("a", .text("b"))], lengths: [], using: &random)
    let second = FormBody([FormPart("a", .text("b"))], lengths: [], using: &random)
    #expect(first.contentType != second.contentType)
    #expect(first.contentType.count == "multipart/form-data; boundary=haul-".count + 32)
  }
}

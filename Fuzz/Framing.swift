import HaulCore

let framingTargets = [
  // The first byte says where the rest is cut.
  Target(name: "response-bytes") { input in
    guard let cut = input.bytes.first else { return }
    let answer = Array(input.bytes.dropFirst())
    let whole = normalized(answer, pieces: answer.count)
    for size in [1, 2, 3, Int(cut) + 1] {
      expect(normalized(answer, pieces: size) == whole, "it depends on pieces of \(size) bytes")
    }
    // A character that stands for a byte is written as its own bytes: the server may send it.
    guard let whole, FieldText.isText(String(decoding: whole, as: UTF8.self)) else { return }
    expect(normalized(whole, pieces: whole.count) == whole, "it repairs what it has repaired")
  },
  Target(name: "field-text") { input in
    let text = FieldText.reversible(input.bytes)
    expect(FieldText.bytes(of: text) == input.bytes, "other bytes go back")
    expect(FieldText.isText(text) == Array(text.utf8).elementsEqual(input.bytes), "bytes as text")
  },
  Target(name: "clean-head") { input in
    let fields = input.bytes.filter { $0 >= 0x20 && $0 < 0x7F }.split(separator: 0x7E)
      .map { Array("X-Field: ".utf8) + $0 + Array("x\r\n".utf8) }.joined()
    let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n".utf8) + fields + [0x0D, 0x0A]
    let answer = head + input.bytes
    for size in [1, 5, answer.count] {
      expect(normalized(answer, pieces: size) == answer, "a clean head, or a body, is changed")
    }
  },
]

/// Nil when it is refused.
private func normalized(_ bytes: [UInt8], pieces size: Int) -> [UInt8]? {
  var normalizer = ResponseNormalizer()
  normalizer.expectAnswer()
  var result: [UInt8] = []
  var rest = bytes[...]
  while !rest.isEmpty {
    let piece = Array(rest.prefix(size))
    rest = rest.dropFirst(size)
    guard let taken = try? piece.withUnsafeBytes({ try normalizer.take($0) ?? piece }) else {
      return nil  // refused
    }
    result += taken
  }
  return result
}

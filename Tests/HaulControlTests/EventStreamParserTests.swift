import HaulControl
import Testing

/// Server-sent events.
@Suite
struct EventStreamParserTests {
  private static let stream = """
    : a comment

    event: ready
    id: 7
    data: {"number":7}

    data:first
    data: second
    retry: 5

    event: unfinished
    data: x

    """

  private static let frames = ["ready 7 {\"number\":7}", " - first\nsecond"]

  private func text(_ frames: [EventStreamParser.Frame]) -> [String] {
    frames.map { "\($0.name) \($0.id ?? "-") \(String(decoding: $0.data, as: UTF8.self))" }
  }

  @Test func `are read, however the bytes are cut; an unfinished one is not reported`() throws {
    let bytes = Array(Self.stream.utf8)
    for size in 1...bytes.count {
      var parser = EventStreamParser()
      var frames: [EventStreamParser.Frame] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        frames += try parser.take(bytes[start..<min(start + size, bytes.count)])
      }
      #expect(text(frames) == Self.frames)
    }
  }

  @Test func `may end their lines with carriage returns too`() throws {
    var parser = EventStreamParser()
    let text = Self.stream.replacing("\n", with: "\r\n")
    #expect(self.text(try parser.take(text.utf8)) == Self.frames)
  }

  @Test func `a line without an end is refused`() {
    var parser = EventStreamParser()
    let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: (16 << 20) + 1)
    #expect(throws: StrictJSON.Malformed.self) { try parser.take(bytes) }
  }
}

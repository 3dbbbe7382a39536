import HaulCLI
import HaulCore
import Testing

@Suite("Progress bars") struct ProgressFrameTests {
  private static func file(
    _ name: String, _ bytes: Int64, of total: Int64?, rate: Double = 1_048_576,
    phase: TransferEvent.Phase = .transferring, hasEnded: Bool = false
  ) -> FileProgress {
    let progress = Progress(bytes: bytes, total: total, rate: rate, connections: 8)
    return FileProgress(name: name, phase: phase, progress: progress, hasEnded: hasEnded)
  }

  private static func lines(
    _ files: [FileProgress], expected: Int = 1, width: Int = 100, height: Int = 24,
    style: FrameStyle = FrameStyle()
  ) -> [String] {
    ProgressFrame(files, expected: expected, width: width, height: height, style: style)
      .lines.map(\.text)
  }

  @Test("a bar shows name, percent, bytes, speed, time left and connections")
  func oneFile() {
    let file = Self.file("x.iso", 5 << 20, of: 10 << 20)
    #expect(
      Self.lines([file], width: 101) == [
        "x.iso                     #######--------   50%"
          + "       5.0 MiB/10.0 MiB     1.0 MiB/s      0:05    x8"
      ])
  }

  @Test("at every width each line fits, whatever the name is")
  func everyWidth() {
    let names = ["x", "a-rather-long-name-for-a-file-0123456789.tar.zst", "漢字のとても長い名前.iso"]
    let styles = [FrameStyle(), FrameStyle(colored: true, unicode: true)]
    for width in 1...200 {
      for style in styles {
        let files = names.map { Self.file($0, 1 << 40, of: 3 << 40) }
        let frame = ProgressFrame(
          files, expected: 3, width: width, height: 24, style: style)
        #expect(frame.lines.count == 4)
        for line in frame.lines {
          let plain = line.text.replacing("\u{1B}[32m", with: "").replacing("\u{1B}[0m", with: "")
          #expect(TerminalText.width(plain) == line.cells)
          #expect(line.cells <= max(1, width - 1))
        }
      }
    }
  }

  @Test("narrow terminals lose the bar first, then numbers, and the percentage last")
  func narrow() throws {
    let file = Self.file("some-file-name.iso", 1 << 20, of: 4 << 20)
    let usual = try #require(Self.lines([file], width: 80).first)
    #expect(usual.contains("#-----") && usual.contains("0:03") && usual.hasSuffix("x8"))
    let bare = try #require(Self.lines([file], width: 79).first)
    #expect(!bare.contains("#") && bare.contains("25%") && bare.contains("MiB/s"))
    let small = try #require(Self.lines([file], width: 24).first)
    #expect(small.contains("some-file") && small.hasSuffix("25%"))
    #expect(Self.lines([file], width: 8) == ["25%"])
  }

  @Test("percent: none without a length, 100 only when whole, never negative")
  func percent() {
    func percent(_ bytes: Int64, _ total: Int64?) -> Int? {
      Progress(bytes: bytes, total: total, rate: 0, connections: 0).percent
    }
    #expect(percent(10, nil) == nil)
    #expect(percent(0, 0) == 100)
    #expect(percent(0, 10) == 0)
    #expect(percent(999_999, 1_000_000) == 99)
    #expect(percent(.max - 1, .max) == 99)
    #expect(percent(.max, .max) == 100)
    #expect(percent(-5, 10) == 0)
    let text = Self.lines([Self.file("x", 10, of: nil)]).joined()
    #expect(!text.contains("%"))
  }

  @Test("numbers that make no sense are left out and never negative")
  func nonsense() {
    for rate in [-1, Double.nan, .infinity, 1e300, 1e-300] {
      for bytes: Int64 in [-7, 0, 20] {
        let text = Self.lines([Self.file("x", bytes, of: 10, rate: rate)]).joined()
        #expect(!text.contains("-7") && !text.contains("nan") && !text.contains("inf"))
      }
    }
  }

  @Test("several files have a total line; lengths are summed only when all are known")
  func total() throws {
    let files = [
      Self.file("a", 1 << 20, of: 2 << 20), Self.file("b", 2 << 20, of: 2 << 20, hasEnded: true),
    ]
    let known = Self.lines(files, expected: 2)
    #expect(known.count == 2)
    let last = try #require(known.last)
    #expect(last.contains("1 of 2 files") && last.contains("75%"))
    #expect(last.contains("3.0 MiB/4.0 MiB") && last.contains("0:01") && last.hasSuffix("x8"))
    let partly = try #require(Self.lines(files, expected: 3).last)
    #expect(partly.contains("1 of 3 files") && !partly.contains("%"))
  }

  @Test("what does not fit the height is counted")
  func height() {
    let files = (0..<10).map { Self.file("f\($0)", 1, of: 2) }
    for height in 3...14 {
      let lines = Self.lines(files, expected: 10, height: height)
      #expect(lines.count <= height - 1)
      let more = 10 - lines.count { $0.hasPrefix("f") }
      #expect(lines.contains { $0 == "and \(more) more" } == (height < 12 && height > 3))
    }
  }

  @Test("names are escaped, and files that wait or have ended take no line")
  func names() {
    let hostile = Self.file("\u{1B}[2J\u{202E}gpj\n.exe", 1, of: 2)
    let text = Self.lines([hostile]).joined()
    #expect(text.contains("\\x1b[2J\\u{202e}gpj\\n.exe"))
    let quiet = [
      Self.file("a", 1, of: 2, phase: .waiting), Self.file("b", 2, of: 2, hasEnded: true),
    ]
    #expect(Self.lines(quiet).isEmpty)
  }

  @Test("a redraw goes up over what was drawn, wrapped lines included")
  func redraw() {
    var display = TerminalDisplay()
    let files = [Self.file("a", 1, of: 2), Self.file("b", 1, of: 2)]
    let frame = ProgressFrame(files, expected: 2, width: 100, height: 24, style: FrameStyle())
    let first = display.update(frame: frame, width: 100)
    #expect(!first.contains("\u{1B}") && first.split(separator: "\n").count == 3)
    let second = display.update(lines: ["message"], frame: frame, width: 100)
    #expect(second.hasPrefix("\r\u{1B}[3A\u{1B}[Jmessage\n"))
    let narrower = display.update(frame: frame, width: 50)
    let rows = frame.lines.map { ($0.cells + 49) / 50 }.reduce(0, +)
    #expect(narrower.hasPrefix("\r\u{1B}[\(rows)A\u{1B}[J"))
    let end = display.update(lines: ["done"], frame: nil, width: 100)
    #expect(end.hasSuffix("\u{1B}[Jdone\n"))
    #expect(display.update(lines: ["later"], frame: nil, width: 100) == "later\n")
  }
}

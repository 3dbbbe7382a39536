import HaulCLI
import HaulCore
import HaulTesting
import Testing

/// The bars on a terminal.
@Suite struct TerminalDisplayTests {
  private static let names = [
    "plain.iso", "漢字のとても長い名前のファイル.tar.zst", "e\u{301}te\u{301}.txt", "🚀🚀🚀.bin",
    "a-rather-long-name-for-a-file-that-nobody-would-want-to-type-0123456789.tar.zst",
  ]

  private static func model(_ generator: inout SimulationRandom) -> ProgressModel {
    let running = Int.random(in: 0..<30, using: &generator)
    let files = (0..<running).map { number in
      FileProgress(
        name: names[number % names.count], phase: .transferring,
        progress: TransferProgress(
          bytes: .random(in: 0..<(1 << 40), using: &generator), total: 1 << 40,
          rate: .random(in: 0..<1e9, using: &generator), connections: number))
    }
    let expected = Bool.random(using: &generator) ? running : running + 9_950
    return ProgressModel(files, expected: max(1, expected))
  }

  private static func frame(
    _ model: ProgressModel, _ screen: TerminalScreen, _ style: FrameStyle
  ) -> [String] {
    ProgressFrame(model, width: screen.width, height: screen.height, style: style).lines.map {
      let plain = $0.text.replacing("\u{1B}[32m", with: "").replacing("\u{1B}[0m", with: "")
      return String(plain.reversed().drop { $0 == " " }.reversed())
    }
  }

  private static func size(_ generator: inout SimulationRandom) -> (width: Int, height: Int) {
    let widths = [1, 2, 3, 10, 20, 79, 80, .random(in: 1...200, using: &generator)]
    return (
      widths.randomElement(using: &generator) ?? 80, .random(in: 2...40, using: &generator)
    )
  }

  @Test(arguments: TerminalScreen.Resizing.allCases, 0..<60 as Range<UInt64>)
  func `after any redraws, lines and resizes, the screen shows only the lines and the frame`(
    resizing: TerminalScreen.Resizing, seed: UInt64
  ) throws {
    var generator = SimulationRandom(seed: seed)
    let style = FrameStyle(colored: seed.isMultiple(of: 2), unicode: seed.isMultiple(of: 3))
    let start = Self.size(&generator)
    var screen = TerminalScreen(width: start.width, height: start.height, resizing: resizing)
    var display = TerminalDisplay()
    var lines: [String] = []
    for step in 0..<40 {
      for _ in 0..<Int.random(in: 0..<3, using: &generator) {
        let size = Self.size(&generator)
        screen.resize(width: size.width, height: size.height)
      }
      let model = Self.model(&generator)
      let new = (0..<Int.random(in: 0..<3, using: &generator)).map { "§\(step).\($0): message" }
      lines += new
      let frame = ProgressFrame(model, width: screen.width, height: screen.height, style: style)
      try screen.feed(display.update(lines: new, frame: frame).utf8)
      let expected = Self.frame(model, screen, style)
      let note: Comment = "seed \(seed), step \(step), \(screen.width) x \(screen.height)"
      // Without a frame, the cursor is on an empty row.
      let below = Array(screen.visible.dropFirst(screen.cursorRow))
      #expect(below == (expected.isEmpty ? [""] : expected), note)
      if resizing == .wraps { #expect(screen.lines == lines + expected, note) }
      let above = screen.visible.prefix(screen.cursorRow).joined()
      #expect(!above.contains("%") && !above.contains("files"), note)
    }
    try screen.feed(display.update(lines: ["§ the end"], frame: nil).utf8)
    if resizing == .wraps { #expect(screen.lines == lines + ["§ the end"], "seed \(seed)") }
  }

  @Test func `the test screen shows debris if a frame is drawn without erasing`() throws {
    var screen = TerminalScreen(width: 60, height: 10)
    let frame = ProgressFrame(
      ProgressModel([FileProgress(name: "x", phase: .connecting)], expected: 2), width: 60,
      height: 10, style: FrameStyle())
    var first = TerminalDisplay()
    try screen.feed(first.update(frame: frame).utf8)
    screen.resize(width: 20, height: 10)
    var second = TerminalDisplay()
    try screen.feed(second.update(lines: ["message"], frame: frame).utf8)
    #expect(screen.lines != ["message"] + frame.lines.map(\.text))
    #expect(throws: TerminalToken.Refused.self) { try screen.feed("\u{1B}]0;owned\u{7}".utf8) }
  }

  @Test func `lines wait for the next redraw, which writes nothing if nothing has changed`() {
    var screen = ProgressScreen(hasBars: true, style: FrameStyle(), size: { (80, 24) })
    var model = ProgressModel([FileProgress(name: "x", phase: .connecting)], expected: 1)
    #expect(screen.add(["one"]).isEmpty)
    #expect(screen.redraw(model).hasPrefix("one\nx "))
    #expect(screen.redraw(model).isEmpty)
    model[0].phase = .transferring
    #expect(screen.redraw(model).hasPrefix("\r\u{1B}[Jx "))
    #expect(screen.add(["two"]).isEmpty)
    #expect(screen.close() == "\r\u{1B}[Jtwo\n")
    var plain = ProgressScreen(hasBars: false, style: FrameStyle(), size: { (80, 24) })
    #expect(plain.add(["one"]) == "one\n")
    #expect(plain.redraw(model).isEmpty && plain.close().isEmpty)
  }
}

import HaulCLI
import HaulCore
import HaulTesting
import NIOConcurrencyHelpers
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

  private static func add(_ bytes: Int64, to file: inout FileProgress) {
    file.progress = file.progress.map {
      TransferProgress(
        bytes: $0.bytes + bytes, total: $0.total, rate: $0.rate, connections: $0.connections)
    }
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

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `drawings of changes leave the same screen as whole ones`(
    seed: UInt64
  ) throws {
    var generator = SimulationRandom(seed: seed)
    let style = FrameStyle(colored: seed.isMultiple(of: 2), unicode: seed.isMultiple(of: 3))
    let size = Self.size(&generator)
    var screen = TerminalScreen(width: size.width, height: size.height)
    var display = TerminalDisplay()
    var model = Self.model(&generator)
    for step in 0..<60 {
      if step.isMultiple(of: 20) { model = Self.model(&generator) }
      for index in model.files.indices where Bool.random(using: &generator) {
        Self.add(.random(in: 0..<(1 << 20), using: &generator), to: &model[index])
        if Int.random(in: 0..<20, using: &generator) == 0 { model[index].phase = .verifying }
      }
      let lines = Int.random(in: 0..<9, using: &generator) == 0 ? ["§\(step): message"] : []
      let frame = ProgressFrame(model, width: screen.width, height: screen.height, style: style)
      try screen.feed(display.update(lines: lines, frame: frame, onlyChanges: true).utf8)
      let below = Array(screen.visible.dropFirst(screen.cursorRow))
      let expected = Self.frame(model, screen, style)
      #expect(below == (expected.isEmpty ? [""] : expected), "seed \(seed), step \(step)")
    }
  }

  @Test func `20 bars write only the digits that change`() {
    var screen = ProgressScreen(hasBars: true, style: FrameStyle(), size: { (120, 40) })
    var model = ProgressModel(
      (0..<20).map { number in
        FileProgress(
          name: "file-\(number)", phase: .transferring,
          progress: TransferProgress(bytes: 5 << 20, total: 1 << 40, rate: 1e6, connections: 4))
      }, expected: 20)
    let whole = screen.redraw(model)
    for index in model.files.indices { Self.add(1 << 20, to: &model[index]) }
    let changes = screen.redraw(model)
    #expect(changes.utf8.count * 5 < whole.utf8.count, "\(changes.utf8.count) bytes")
    #expect(!changes.contains("file-") && changes.contains("6"))
    _ = screen.add(["a line"])
    #expect(screen.redraw(model).contains("file-19"), "a line scrolls the bars")
  }

  @Test func `a terminal of another size, and each hundredth time, gets the whole frame`() {
    let size = NIOLockedValueBox((width: 80, height: 24))
    var screen = ProgressScreen(hasBars: true, style: FrameStyle()) { size.withLockedValue { $0 } }
    var model = ProgressModel([FileProgress(name: "x", phase: .connecting)], expected: 1)
    _ = screen.redraw(model)
    func change() -> String {
      model[0].phase = model[0].phase == .connecting ? .transferring : .connecting
      return screen.redraw(model)
    }
    #expect(!change().contains("\u{1B}[J"))
    size.withLockedValue { $0.width = 90 }
    #expect(change().hasPrefix("\r\u{1B}[J"))
    #expect(!change().contains("\u{1B}[J"))
    let whole = (0..<200).count { _ in change().contains("\u{1B}[J") }
    #expect(whole == 1 || whole == 2)
  }

  @Test func `a slow terminal is drawn to less often`() {
    var pace = DrawingPace()
    let start = Instant()
    #expect(pace.isDue(at: start))
    pace.note(.milliseconds(5), at: start)
    #expect(pace.isDue(at: start))
    pace.note(.milliseconds(100), at: start)
    #expect(
      !pace.isDue(at: start + .milliseconds(399)) && pace.isDue(at: start + .milliseconds(400)))
    pace.note(.seconds(60), at: start)
    #expect(pace.isDue(at: start + .seconds(2)))
  }

  @Test func `the total has the bytes of all files, also where those of the files have no room`() {
    let files = (0..<3).map { number in
      FileProgress(
        name: "f\(number)", phase: .transferring,
        progress: TransferProgress(bytes: 1 << 30, total: 2 << 30, rate: 1e6, connections: 1))
    }
    let frame = ProgressFrame(
      ProgressModel(files, expected: 3), width: 80, height: 24, style: FrameStyle())
    let lines = frame.lines.map(\.text)
    #expect(lines.last?.contains("3.0 GiB/6.0 GiB") == true, "\(lines)")
    #expect(!lines[0].contains("GiB/"))
    #expect(Set(frame.lines.map(\.cells)).count == 1)
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
    let change = screen.redraw(model)
    #expect(!change.isEmpty && !change.contains("x") && !change.contains("\u{1B}[J"))
    #expect(screen.add(["two"]).isEmpty)
    #expect(screen.close() == "\r\u{1B}[Jtwo\n")
    var plain = ProgressScreen(hasBars: false, style: FrameStyle(), size: { (80, 24) })
    #expect(plain.add(["one"]) == "one\n")
    #expect(plain.redraw(model).isEmpty && plain.close().isEmpty)
  }
}

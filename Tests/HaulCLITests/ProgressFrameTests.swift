import HaulCLI
import HaulCore
import HaulTesting
import Testing

/// Progress bars.
@Suite struct ProgressFrameTests {
  private static func file(
    _ name: String, _ bytes: Int64, of total: Int64?, rate: Double = 1_048_576,
    phase: TransferEvent.Phase? = .transferring, hasEnded: Bool = false
  ) -> FileProgress {
    let progress = TransferProgress(bytes: bytes, total: total, rate: rate, connections: 8)
    return FileProgress(name: name, phase: phase, progress: progress, hasEnded: hasEnded)
  }

  private static func lines(
    _ files: [FileProgress], expected: Int = 1, width: Int = 100, height: Int = 24,
    style: FrameStyle = FrameStyle()
  ) -> [String] {
    ProgressFrame(
      ProgressModel(files, expected: expected), width: width, height: height, style: style
    ).lines.map(\.text)
  }

  @Test func `a bar shows name, percent, bytes, speed, time left and connections`() {
    let file = Self.file("x.iso", 5 << 20, of: 10 << 20)
    #expect(
      Self.lines([file], width: 111) == [
        "x.iso               ###############----------------   50%"
          + "       5.0 MiB/10.0 MiB     1.0 MiB/s      0:05    x8"
      ])
  }

  @Test func `the bar uses the available width: 30 cells at 80 columns`() throws {
    let file = Self.file("x.iso", 1 << 20, of: 2 << 20)
    func bar(_ width: Int) -> Int {
      Self.lines([file], width: width).joined().count { $0 == "#" || $0 == "-" }
    }
    #expect(bar(80) == 30)
    #expect(bar(100) > 30 && bar(200) == 60)
    #expect(bar(60) > 6 && bar(40) == 0)
    // In every line, names begin and numbers end in the same columns.
    let other = Self.file("a-much-longer-name-than-that.tar", 1, of: nil)
    for width in [50, 80, 100, 120] {
      #expect(Set(Self.lines([file, other], expected: 2, width: width).map(\.count)).count == 1)
    }
  }

  @Test func `without a length, the bytes take the place of the bar`() throws {
    let line = try #require(Self.lines([Self.file("x", 12 << 20, of: nil)], width: 80).first)
    #expect(line.contains("12.0 MiB") && !line.contains("#") && !line.contains("---"))
  }

  @Test func `a wait for the next attempt counts down and says why`() throws {
    var file = FileProgress(name: "x.iso")
    file.retry = .init(end: .seconds(10), reason: ", as the server asked")
    var model = ProgressModel([file], expected: 1)
    func text(_ elapsed: Duration, width: Int = 80) -> String? {
      model.elapsed = elapsed
      return ProgressFrame(model, width: width, height: 24, style: FrameStyle()).lines.first?.text
    }
    #expect(text(.seconds(3)) == "x.iso  retrying in 7 s, as the server asked")
    #expect(text(.milliseconds(9_100)) == "x.iso  retrying in 1 s, as the server asked")
    #expect(text(.seconds(11)) == "x.iso  retrying now, as the server asked")
    for width in 1...80 { #expect((text(.zero, width: width)?.count ?? 0) < max(width, 2)) }
  }

  @Test func `a total with unknown lengths counts files, and has a time left`() throws {
    var model = ProgressModel(
      [
        Self.file("a", 9, of: 9, hasEnded: true), Self.file("b", 1, of: nil),
        Self.file("c", 1, of: 2),
      ], expected: 10)
    model.elapsed = .seconds(3)
    let frame = ProgressFrame(model, width: 80, height: 24, style: FrameStyle())
    let line = try #require(frame.lines.last?.text)
    // One and a half of ten files in 3 s: 17 s remain.
    #expect(line.contains("1 of 10 files") && line.contains(" 15%") && line.contains("0:17"))
  }

  @Test func `at every width each line fits, whatever the name is`() {
    let names = ["x", "a-rather-long-name-for-a-file-0123456789.tar.zst", "漢字のとても長い名前.iso"]
    let styles = [FrameStyle(), FrameStyle(colored: true, unicode: true)]
    for width in 1...200 {
      for style in styles {
        let files = names.map { Self.file($0, 1 << 40, of: 3 << 40) }
        let frame = ProgressFrame(
          ProgressModel(files, expected: 3), width: width, height: 24, style: style)
        #expect(frame.lines.count == 4)
        for line in frame.lines {
          let plain = line.text.replacing("\u{1B}[32m", with: "").replacing("\u{1B}[0m", with: "")
          #expect(TerminalText.width(plain) == line.cells)
          #expect(line.cells <= max(1, width - 1))
        }
      }
    }
  }

  @Test func `narrow terminals omit the bar first, then numbers, and the percentage last`() throws {
    let file = Self.file("some-file-name.iso", 1 << 20, of: 4 << 20)
    let usual = try #require(Self.lines([file], width: 80).first)
    #expect(usual.contains("#-----") && usual.hasSuffix("0:03"))
    let bare = try #require(Self.lines([file], width: 45).first)
    #expect(!bare.contains("#") && bare.contains("25%") && bare.contains("MiB/s"))
    let small = try #require(Self.lines([file], width: 24).first)
    #expect(small.contains("some-file") && small.hasSuffix("25%"))
    #expect(Self.lines([file], width: 8) == ["25%"])
  }

  @Test func `percent: none without a length, 100 only when whole, never negative`() {
    func percent(_ bytes: Int64, _ total: Int64?) -> Int? {
      TransferProgress(bytes: bytes, total: total, rate: 0, connections: 0).percent
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

  @Test func `impossible numbers are omitted and never negative`() {
    for rate in [-1, Double.nan, .infinity, 1e300, 1e-300] {
      for bytes: Int64 in [-7, 0, 20] {
        let text = Self.lines([Self.file("x", bytes, of: 10, rate: rate)]).joined()
        #expect(!text.contains("-7") && !text.contains("nan") && !text.contains("inf"))
      }
    }
  }

  @Test func `several files have a total line; lengths are added only when all are known`() throws {
    let files = [
      Self.file("a", 1 << 20, of: 2 << 20), Self.file("b", 2 << 20, of: 2 << 20, hasEnded: true),
    ]
    let known = Self.lines(files, expected: 2, width: 111)
    #expect(known.count == 2)
    let last = try #require(known.last)
    #expect(last.contains("1 of 2 files") && last.contains("75%"))
    #expect(last.contains("3.0 MiB/4.0 MiB") && last.contains("0:01") && last.hasSuffix("x8"))
    let partly = try #require(Self.lines(files, expected: 3).last)
    #expect(partly.contains("1 of 3 files") && partly.contains("50%"))
  }

  @Test func `running files that do not fit the height are counted`() {
    let files = (0..<10).map { Self.file("f\($0)", 1, of: 2) }
    for height in 1...14 {
      let lines = Self.lines(files, expected: 10, height: height)
      #expect(lines.count <= max(1, height - 1))
      #expect(lines.last?.contains("of 10 files") == true)
      let more = 10 - lines.count { $0.hasPrefix("f") }
      #expect(lines.contains("and \(more) more running") == (height < 12 && height > 3))
    }
  }

  @Test func `waiting files are counted, with the longest text that fits`() {
    let files =
      (0..<50).map { Self.file("f\($0)", 1, of: 2) }
      + (0..<9_950).map { FileProgress(name: "w\($0)") }
    let model = ProgressModel(files, expected: 10_000)
    func rest(width: Int, height: Int, unicode: Bool = true) -> String? {
      let style = FrameStyle(unicode: unicode)
      let frame = ProgressFrame(model, width: width, height: height, style: style)
      #expect(frame.lines.count == min(height - 1, 52))
      return frame.lines.dropLast().last?.text
    }
    #expect(rest(width: 80, height: 60) == "… 9,950 more waiting")
    #expect(rest(width: 80, height: 60, unicode: false) == "and 9,950 more waiting")
    #expect(rest(width: 80, height: 24) == "… 29 more running, 9,950 waiting")
    #expect(rest(width: 20, height: 24) == "… 9,979 more")
    #expect(rest(width: 10, height: 24) == "+9,979")
    #expect(rest(width: 5, height: 24) == "+9,…")
    #expect(rest(width: 1, height: 24) == "…")
  }

  @Test func `the board keeps the same totals as a new one, whatever happens`() {
    var generator = SimulationRandom(seed: 11)
    let phases: [TransferEvent.Phase?] = [nil, .connecting, .transferring, .publishing]
    var model = ProgressModel(expected: 40)
    for step in 0..<2000 {
      var file = Self.file("f", .random(in: -5...9, using: &generator), of: 9)
      file.phase = phases[.random(in: 0..<4, using: &generator)]
      file.hasEnded = Int.random(in: 0..<4, using: &generator) == 0
      if Int.random(in: 0..<3, using: &generator) == 0 { file.progress = nil }
      if model.files.count < 40, step.isMultiple(of: 9) {
        model.append(file)
      } else {
        model[.random(in: 0..<model.files.count, using: &generator)] = file
      }
      let anew = ProgressModel(model.files, expected: 40)
      for height in [6, 60] {
        #expect(
          ProgressFrame(model, width: 90, height: height, style: FrameStyle())
            == ProgressFrame(anew, width: 90, height: height, style: FrameStyle()),
          "seed 11, step \(step)")
      }
    }
  }

  @Test func `names are escaped, and files that wait or have ended need no line`() {
    let hostile = Self.file("\u{1B}[2J\u{202E}gpj\n.exe", 1, of: 2)
    let text = Self.lines([hostile], width: 200).joined()
    #expect(text.contains("\\x1b[2J\\u{202e}gpj\\n.exe"))
    let quiet = [
      Self.file("a", 1, of: 2, phase: nil), Self.file("b", 2, of: 2, hasEnded: true),
    ]
    #expect(Self.lines(quiet).isEmpty)
  }
}

import HaulCLI
import HaulCore
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// How the environment decides about the output.
@Suite struct ProcessContextTests {
  static func context(
    _ environment: [String: String] = [:], output: Bool = false, error: Bool = false,
    size: (width: Int, height: Int)? = nil
  ) -> ProcessContext {
    ProcessContext(
      environment: ["TERM": "xterm"].merging(environment) { $1 }, standardOutputIsTerminal: output,
      standardErrorIsTerminal: error,
      terminalSize: { size }, clock: ManualClock())
  }

  @Test func `bars on a terminal, plain lines elsewhere, unless an option says otherwise`() {
    var options = OutputOptions()
    #expect(Self.context(error: true).view(for: options) == .bar)
    #expect(Self.context().view(for: options) == .plain)
    for term in ["dumb", ""] {
      #expect(Self.context(["TERM": term], error: true).view(for: options) == .plain)
      #expect(!Self.context(["TERM": term], error: true).style.colored)
    }
    var background = Self.context(error: true)
    background.isForeground = { false }
    #expect(background.view(for: options) == .plain)
    options.verbose = true
    #expect(Self.context(error: true).view(for: options) == .plain)
    options.verbose = false
    options.json = true
    #expect(Self.context(error: true).view(for: options) == .bar)
    #expect(Self.context(output: true, error: true).view(for: options) == .none)
    options.progress = .bar
    #expect(Self.context().view(for: options) == .bar)
    options.progress = .plain
    #expect(Self.context(error: true).view(for: options) == .plain)
    options.progress = .none
    #expect(Self.context(error: true).view(for: options) == .none)
    options.progress = .auto
    options.quiet = true
    #expect(Self.context(error: true).view(for: options) == .none)
  }

  @Test func `NO_COLOR and the locale are respected`() {
    #expect(Self.context(error: true).style.colored)
    #expect(!Self.context(["NO_COLOR": "1"], error: true).style.colored)
    #expect(Self.context(["NO_COLOR": ""], error: true).style.colored)
    #expect(!Self.context().style.colored)
    #expect(Self.context(["LANG": "de_DE.UTF-8"]).style.unicode)
    #expect(!Self.context(["LANG": "de_DE.UTF-8", "LC_ALL": "C"]).style.unicode)
    #expect(!Self.context().style.unicode)
  }

  @Test func `the width comes from the terminal, then from COLUMNS, then it is 80`() {
    #expect(Self.context(["COLUMNS": "50"], size: (100, 30)).size.width == 100)
    #expect(Self.context(["COLUMNS": "50"], size: (100, 30)).size.height == 30)
    #expect(Self.context(["COLUMNS": "50"]).size.width == 50)
    #expect(Self.context(["COLUMNS": "-1"]).size.width == 80)
    #expect(Self.context().size.width == 80)
  }

  @Test func `in the background, lines are written and the prompt is not overwritten`() {
    let size = NIOLockedValueBox<(width: Int, height: Int)?>((80, 24))
    var screen = ProgressScreen(hasBars: true, style: FrameStyle()) { size.withLockedValue { $0 } }
    let model = ProgressModel([FileProgress(name: "x", phase: .connecting)], expected: 1)
    #expect(screen.redraw(model).contains("connecting"))
    size.withLockedValue { $0 = nil }
    _ = screen.add(["x: complete"])
    #expect(screen.redraw(model) == "x: complete\n")
    #expect(screen.redraw(model) == "")
    size.withLockedValue { $0 = (80, 24) }
    #expect(screen.redraw(model).contains("connecting"))
    var context = Self.context(size: (100, 30))
    #expect(context.drawableSize?.width == 100)
    context.isForeground = { false }
    #expect(context.drawableSize == nil)
  }
}

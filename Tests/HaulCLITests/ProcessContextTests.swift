import HaulCLI
import HaulCore
import HaulTesting
import NIOConcurrencyHelpers
import Testing

@Suite("How the surroundings decide about the view") struct ProcessContextTests {
  static func surroundings(
    _ environment: [String: String] = [:], output: Bool = false, error: Bool = false,
    size: (width: Int, height: Int)? = nil
  ) -> ProcessContext {
    ProcessContext(
      environment: ["TERM": "xterm"].merging(environment) { $1 }, standardOutputIsTerminal: output,
      standardErrorIsTerminal: error,
      terminalSize: { size }, clock: ManualClock())
  }

  @Test("bars on a terminal, plain lines elsewhere, unless asked otherwise")
  func view() {
    var options = OutputOptions()
    #expect(Self.surroundings(error: true).view(for: options) == .bar)
    #expect(Self.surroundings().view(for: options) == .plain)
    for term in ["dumb", ""] {
      #expect(Self.surroundings(["TERM": term], error: true).view(for: options) == .plain)
      #expect(!Self.surroundings(["TERM": term], error: true).style.colored)
    }
    options.verbose = true
    #expect(Self.surroundings(error: true).view(for: options) == .plain)
    options.verbose = false
    options.json = true
    #expect(Self.surroundings(error: true).view(for: options) == .bar)
    #expect(Self.surroundings(output: true, error: true).view(for: options) == .none)
    options.progress = .bar
    #expect(Self.surroundings().view(for: options) == .bar)
    options.progress = .plain
    #expect(Self.surroundings(error: true).view(for: options) == .plain)
    options.progress = .none
    #expect(Self.surroundings(error: true).view(for: options) == .none)
    options.progress = .auto
    options.quiet = true
    #expect(Self.surroundings(error: true).view(for: options) == .none)
  }

  @Test("NO_COLOR and the locale are honoured")
  func style() {
    #expect(Self.surroundings(error: true).style.colored)
    #expect(!Self.surroundings(["NO_COLOR": "1"], error: true).style.colored)
    #expect(Self.surroundings(["NO_COLOR": ""], error: true).style.colored)
    #expect(!Self.surroundings().style.colored)
    #expect(Self.surroundings(["LANG": "de_DE.UTF-8"]).style.unicode)
    #expect(!Self.surroundings(["LANG": "de_DE.UTF-8", "LC_ALL": "C"]).style.unicode)
    #expect(!Self.surroundings().style.unicode)
  }

  @Test("the width comes from the terminal, else from COLUMNS, else it is 80")
  func width() {
    #expect(Self.surroundings(["COLUMNS": "50"], size: (100, 30)).size.width == 100)
    #expect(Self.surroundings(["COLUMNS": "50"], size: (100, 30)).size.height == 30)
    #expect(Self.surroundings(["COLUMNS": "50"]).size.width == 50)
    #expect(Self.surroundings(["COLUMNS": "-1"]).size.width == 80)
    #expect(Self.surroundings().size.width == 80)
  }

  @Test("in the background lines are written, and nothing is drawn over the prompt")
  func background() {
    let place = NIOLockedValueBox<(width: Int, height: Int)?>((80, 24))
    var screen = GetScreen(hasBars: true, style: FrameStyle()) { place.withLockedValue { $0 } }
    let board = ProgressBoard([FileProgress(name: "x", phase: .connecting)], expected: 1)
    #expect(screen.redraw(board).contains("connecting"))
    place.withLockedValue { $0 = nil }
    _ = screen.add(["x: complete"])
    #expect(screen.redraw(board) == "x: complete\n")
    #expect(screen.redraw(board) == "")
    place.withLockedValue { $0 = (80, 24) }
    #expect(screen.redraw(board).contains("connecting"))
    var surroundings = Self.surroundings(size: (100, 30))
    #expect(surroundings.room?.width == 100)
    surroundings.isForeground = { false }
    #expect(surroundings.room == nil)
  }
}

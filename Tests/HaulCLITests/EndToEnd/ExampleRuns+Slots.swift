import Foundation
import HaulLibC
import HaulTesting
import Testing

/// Checks SlotMachine by the lines that it draws.
extension ExampleRuns {
  /// A new named pipe, open in both directions: for writing alone it would wait for a reader.
  static func fifo(_ path: String) throws -> FileHandle {
    try #require(mkfifo(path, 0o600) == 0)
    let file = open(path, O_RDWR | O_CLOEXEC)
    try #require(file >= 0)
    return FileHandle(fileDescriptor: file, closeOnDealloc: true)
  }

  @Test
  func `SlotMachine: each press starts a stopped reel and stops a spinning one, however fast`()
    async throws
  {
    try await CommandFixture.with { fixture in
      // Seven presses at once, then the end.
      let arguments = ["-c", "printf xxxxxxxq | '\(program("SlotMachine"))'"]
      let result = try await CommandRun(arguments, in: fixture.directory, program: "/bin/sh").end()
      #expect(result.status == 0, "\(result.errors)")
      let drawing = Drawing(result.output)
      drawing.expectSound()
      let changes = drawing.frames.map(\.isSpinning).reduce(into: [Bool]()) {
        if $0.last != $1 { $0.append($1) }
      }
      #expect(changes == [true, false, true, false, true, false, true], "\(result.output)")
      // It is drawn once when it stops, and not again.
      #expect(drawing.stops == 3, "\(result.output)")
    }
  }

  @Test
  func `SlotMachine: the digits of a reel change one by one while it spins, and stay at its end`()
    async throws
  {
    try await CommandFixture.with { fixture in
      let keys = try Self.fifo(fixture.path("keys"))
      let run = try await CommandRun(
        ["-c", "exec '\(program("SlotMachine"))' < keys"], in: fixture.directory, program: "/bin/sh"
      )
      for turn in 1...2 {
        try keys.write(contentsOf: Data("x".utf8))
        try await run.reach("the reels turned, time \(turn)") { output, _ in
          let spins = Drawing(output).spins
          return spins.count == turn && spins[turn - 1].allSatisfy { $0.count > 20 }
        }
        try keys.write(contentsOf: Data("x".utf8))
        try await run.reach("they stopped, time \(turn)") { output, _ in
          Drawing(output).stops == turn
        }
      }
      try keys.write(contentsOf: Data("q".utf8))
      let result = await run.end()
      #expect(result.status == 0, "\(result.errors)")
      let drawing = Drawing(result.output)
      drawing.expectSound()
      #expect(drawing.stops == 2 && drawing.spins.count == 2, "\(result.output)")
      #expect(drawing.frames.last?.isSpinning == false, "\(result.output)")
      for reel in drawing.spins.joined() {
        #expect(Set(reel).count > 5, "\(reel)")
        // A digit decreases only after 9. Two copies of a reel would alternate between distant
        // digits.
        let back = zip(reel, reel.dropFirst()).count { $1 < $0 }
        #expect(back <= reel.count / 3, "\(reel)")
      }
      // Two copies in step would show each digit twice.
      #expect(drawing.repeated <= drawing.frames.count / 10, "\(result.output)")
    }
  }
}

/// The frames that SlotMachine has drawn, one per line: `[ 1 2 3 ]  spinning: any key stops`.
private struct Drawing {
  struct Frame {
    let digits: [Int]
    let isSpinning: Bool
  }

  let frames: [Frame]

  /// - Parameter output: its last line may be incomplete.
  init(_ output: String) {
    let lines = output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    frames = lines.compactMap { line in
      let parts = line.split(separator: "]").map(String.init)
      guard parts.count == 2, let isSpinning = Self.labels[parts[1]] else { return nil }
      let digits = parts[0].split(separator: " ").compactMap { Int($0) }
      guard digits.count == Self.reels else { return nil }
      return Frame(digits: digits, isSpinning: isSpinning)
    }
  }

  private static let reels = 3
  private static let labels = [
    "  spinning: any key stops": true, "  stopped: any key starts": false,
  ]

  private var pairs: Zip2Sequence<[Frame], ArraySlice<Frame>> { zip(frames, frames.dropFirst()) }

  /// The number of frames in which it stands.
  var stops: Int { frames.count { !$0.isSpinning } }

  /// The number of frames that repeat a digit.
  var repeated: Int {
    pairs.count { $0.isSpinning && $1.isSpinning && $0.digits == $1.digits }
  }

  /// The digits of each reel, in order, for each spin.
  var spins: [[[Int]]] {
    frames.split { !$0.isSpinning }.map { spin in
      (0..<Self.reels).map { Self.digits(of: $0, in: spin) }
    }
  }

  private static func digits(of reel: Int, in spin: ArraySlice<Frame>) -> [Int] {
    zip(spin, spin.dropFirst()).compactMap { last, next in
      last.digits[reel] == next.digits[reel] ? nil : next.digits[reel]
    }
  }

  /// Checks that at most one digit changes per frame, and none while the reels stand.
  func expectSound(sourceLocation: SourceLocation = #_sourceLocation) {
    let isRight = frames.allSatisfy { $0.digits.allSatisfy { (0...9).contains($0) } }
    #expect(isRight, "\(frames)", sourceLocation: sourceLocation)
    for (last, next) in pairs {
      let changed = zip(last.digits, next.digits).count { $0 != $1 }
      // A press shows no new digit.
      let most = last.isSpinning && next.isSpinning ? 1 : 0
      #expect(changed <= most, "\(last), \(next)", sourceLocation: sourceLocation)
    }
  }
}

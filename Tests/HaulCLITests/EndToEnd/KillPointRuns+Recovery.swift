import Foundation
import HaulTesting
import Testing

/// Kills the program again while it recovers from the first kill.
extension KillPointRuns {
  /// Points that are not passed while a stored list is opened, and why. They are passed in the
  /// second start nevertheless.
  private static let notWhileOpening: Set<String> = [
    // Nothing runs before the program resumes its queue, which begins suspended.
    "began",
    // Only a pending command runs by itself, and opening does not wait for its end.
    "ended",
  ]

  @Test
  func `Killed again at each point of the recovery from the first kill, it loses nothing`()
    async throws
  {
    let points = try await Self.fixture { try await $0.run(["--finish"]).passages }.keys.sorted()
    #expect(Set(points).isSuperset(of: Self.notWhileOpening))
    var (again, opening): (Set<String>, Set<String>) = ([], [])
    for point in points {
      // One download has ended, and that is not stored; others run or wait.
      let kills = try await Self.fixture { try await $0.sequence("ended:1", "\(point):1") }
      #expect(kills.map(\.start) == [1, 2], "\(point): \(kills)")
      for kill in kills where kill.start == 2 {
        again.insert(kill.point)
        if kill.isOpening { opening.insert(kill.point) }
      }
      // Nothing of it is stored again, except for a step that was under way.
      guard point != "ended" else { continue }
      if try await Self.fixture({ try await $0.killedWithSteps(again: point).isOpening }) {
        opening.insert(point)
      }
    }
    print("killed in the second start: \(again.sorted()); while it opened: \(opening.sorted())")
    #expect(again == Set(points))
    #expect(opening == Set(points).subtracting(Self.notWhileOpening))
  }

  @Test
  func `Killed again after recovery carried out a pending command, the command still holds`()
    async throws
  {
    try await Self.fixture { fixture in
      fixture.server.setFaults("/first", [Fault(.status(404))])
      // Three have run, and one of them has failed. The fourth end is the end of its removal.
      let first = try await fixture.run(["--die-at", "ended:4"])
      #expect(first.wasKilled && !first.did("remove"), "\(first.lines)")
      let second = try await fixture.run(["--die-at", "ended:1"])
      #expect(second.wasKilled && !second.did("remove"), "\(second.lines)")
      let last = try await fixture.run(["--finish"])
      #expect(!last.wasKilled)
      // A transfer waits after one that was removed without being completed.
      let ends = (last.states("ends") ?? []).map { "\($0.name) \($0.state)" }
      #expect(
        ends == [
          "moved completed", "paused completed", "cancelled cancelled", "second queued",
          "behind queued", "untagged completed", "step queued",
        ], "\(first.lines), \(second.lines), \(last.lines)")
      let names = try fixture.names()
      #expect(names == ["moved", "paused", "untagged"])
    }
  }
}

extension DrillFixture {
  /// Two steps, killed before their programs begin, and again in the second start. For the one that
  /// must not run twice, `interrupted` must be stored. Returns the second kill.
  func killedWithSteps(again point: String) async throws -> Kill {
    let steps = ["--script", #"echo ran >> "$1.runs""#]
    let first = try await run(steps + ["--die-at", "began:1"])
    #expect(first.wasKilled, "\(first.lines)")
    let second = try await run(steps + ["--die-at", "\(point):1"])
    #expect(second.wasKilled, "\(point): \(second.lines)")
    let last = try await run(steps)
    let what = "\(point): \(first.lines), \(second.lines), \(last.lines)"
    let ends = (last.states("ends") ?? []).map { "\($0.name) \($0.state)" }
    #expect(ends == ["again completed", "once failed"], "\(what)")
    #expect(FileManager.default.contents(atPath: "\(directory)/again.runs") == Data("ran\n".utf8))
    #expect(!FileManager.default.fileExists(atPath: "\(directory)/once.runs"), "\(what)")
    return Kill(point: point, start: 2, isOpening: !second.hasBegun)
  }
}

import Foundation
import HaulTesting
import Testing

/// SIGKILL of a real program between any two statements of a state change of the queue; see
/// docs/reliability.md for I3, I5 and I6.
///
/// `make kill-points` kills it at every pass of every point; here each point is passed a few times.
@Suite(.timeLimit(.minutes(10)))
struct KillPointRuns {
  private static let files = [
    "first", "paused", "cancelled", "second", "behind", "untagged", "moved",
  ]

  private static var resources: [FaultScript.Resource] {
    files.map { name in
      var resource = FaultScript.Resource(
        "/\(name)", seed: 7, length: DrillFixture.length(of: name))
      // For two of them, only the length shows that they are unchanged.
      if ["untagged", "moved"].contains(name) { resource.lastModified = nil }
      return resource
    }
  }

  @Test
  func `Each acknowledged command holds, complete files are not fetched again, all transfers end`()
    async throws
  {
    let counts = try await Self.fixture { try await $0.run(["--finish"]).passages }
    #expect(counts.values.allSatisfy { $0 > 0 }, "\(counts)")
    let isWhole = ProcessInfo.processInfo.environment["HAUL_KILL_POINTS"] == "all"
    var (killed, killedAgain): ([String: Int], [String: Int]) = ([:], [:])
    for point in counts.keys.sorted() {
      let count = counts[point] ?? 0
      // A file is published but its end is not stored: few moments, and each is tried.
      let numbers =
        isWhole || point == "ended"
        ? Array(1...count) : Array(Set([1, count / 2 + 1, count])).sorted()
      for number in numbers {
        // The second run is killed during its recovery.
        let again = counts.keys.sorted()[(number + killed.count) % counts.count]
        let kills = try await Self.fixture {
          try await $0.sequence("\(point):\(number)", "\(again):\(number % 3 + 1)")
        }
        for kill in kills {
          if kill.start == 1 {
            killed[kill.point, default: 0] += 1
          } else {
            killedAgain[kill.point, default: 0] += 1
          }
        }
      }
    }
    print("kill points: \(killed.sorted { $0.key < $1.key })")
    print("killed again: \(killedAgain.sorted { $0.key < $1.key })")
    #expect(Set(killed.keys) == Set(counts.keys), "not every point was reached: \(killed)")
  }

  static func fixture<Value>(_ body: (DrillFixture) async throws -> Value) async throws -> Value {
    try await withFaultServer(FaultScript(resources)) { server in
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "haul-drill-\(UUID().uuidString)").resolvingSymlinksInPath().path
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: directory) }
      return try await body(DrillFixture(server: server, directory: directory))
    }
  }
}

/// Where the program runs, several times.
struct DrillFixture {
  let server: FaultServer
  let directory: String

  /// One file is longer than what is fetched again after a crash.
  static func length(of name: String) -> Int64 { name == "moved" ? 3 << 20 : 300_000 }

  /// The output of one run.
  struct Run {
    let lines: [[String]]
    let wasKilled: Bool

    var passages: [String: Int] {
      lines.reduce(into: [:]) { if $1[0] == "passed" { $0[$1[1]] = Int($1[2]) } }
    }

    func did(_ command: String) -> Bool { lines.contains(["did", command]) }

    /// Whether its list was open and recovered.
    var hasBegun: Bool { lines.contains(["begins"]) }

    /// The name and state of each transfer, in order; nil if the run did not get so far.
    func states(_ when: String) -> [(name: String, state: String, priority: String)]? {
      guard lines.contains([when]) else { return nil }
      return lines.filter { $0[0] == when && $0.count == 4 }.map { ($0[1], $0[2], $0[3]) }
    }
  }

  /// The place where a run was killed.
  struct Kill {
    let point: String
    /// The number of the start, from 1.
    let start: Int
    /// Whether its list was not yet open.
    let isOpening: Bool
  }

  func run(_ options: [String]) async throws -> Run {
    let program = CommandRun.products.appending(path: "haul-drill")
    let result = try await CommandRun(
      [directory, server.url("")] + options, in: directory, program: program.path
    ).end()
    #expect([0, 128 + SIGKILL].contains(result.status), "\(result.output)\(result.errors)")
    let lines = result.output.split(separator: "\n").map {
      $0.split(separator: " ").map(String.init)
    }
    return Run(lines: lines, wasKilled: result.status != 0)
  }

  /// Two runs that are killed at these points if they reach them, and one that ends. Returns the
  /// kills.
  func sequence(_ first: String, _ second: String) async throws -> [Kill] {
    var done: Set<String> = []
    var whole: Set<String> = []
    var kills: [Kill] = []
    for (index, point) in [first, second, nil].enumerated() {
      let sent = sent()
      let run = try await run(point.map { ["--die-at", $0] } ?? ["--finish"])
      let what = "\(first), \(second): \(run.lines)"
      // I5, I3: as the run before left it.
      if let states = run.states("begins") { expect(done, whole, states, what) }
      for name in whole {
        #expect(self.sent()[name, default: 0] - sent[name, default: 0] <= 1, "\(name); \(what)")
      }
      for command in ["add", "move", "pause", "cancel", "set", "remove"] where run.did(command) {
        done.insert(command)
      }
      whole = try names().filter { !$0.contains(".haul.") }.reduce(into: []) { $0.insert($1) }
      for name in whole { try expectWhole(name, what) }
      if run.wasKilled, let point {
        let name = String(point.prefix { $0 != ":" })
        kills.append(Kill(point: name, start: index + 1, isOpening: !run.hasBegun))
      }
      if point == nil { try expectEnd(run, isCancelled: done.contains("cancel"), what) }
    }
    return kills
  }

  private func expect(
    _ done: Set<String>, _ whole: Set<String>,
    _ states: [(name: String, state: String, priority: String)], _ what: String
  ) {
    let found = Dictionary(uniqueKeysWithValues: states.map { ($0.name, $0) })
    if done.contains("add") { #expect(states.count >= 7, "\(what)") }
    if done.contains("move") { #expect(states.first?.name == "moved", "\(what)") }
    if done.contains("pause") { #expect(found["paused"]?.state == "paused", "\(what)") }
    if done.contains("cancel") { #expect(found["cancelled"]?.state == "cancelled", "\(what)") }
    if done.contains("set") { #expect(found["second"]?.priority == "background", "\(what)") }
    if done.contains("remove") { #expect(found["first"] == nil, "\(what)") }
    for (name, state, _) in states where state == "completed" && name != "step" {
      #expect(whole.contains(name), "\(name) is not there; \(what)")
    }
  }

  private func expectEnd(_ run: Run, isCancelled: Bool, _ what: String) throws {
    #expect(!run.wasKilled)
    let ends = run.states("ends") ?? []
    #expect(
      ends.map(\.name)
        == ["moved", "paused", "cancelled", "second", "behind", "untagged", "step"], "\(what)")
    for (name, state, _) in ends {
      let isCancelled = name == "cancelled" && isCancelled
      #expect(state == (isCancelled ? "cancelled" : "completed"), "\(name); \(what)")
    }
    let files = ["behind", "first", "moved", "paused", "second", "untagged"]
    #expect(try names() == (files + (isCancelled ? [] : ["cancelled"])).sorted(), "\(what)")
  }

  func names() throws -> [String] {
    let path = "\(directory)/files"
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }

  private func expectWhole(_ name: String, _ what: String) throws {
    let bytes = try Data(contentsOf: URL(filePath: "\(directory)/files/\(name)"))
    #expect(
      bytes == Data(SeededContent(seed: 7).bytes(at: 0, count: Int(Self.length(of: name)))),
      "\(name); \(what)")
  }

  /// Body bytes sent so far, by file.
  private func sent() -> [String: Int64] {
    server.snapshot.requests.reduce(into: [:]) {
      $0[String($1.path.dropFirst()), default: 0] += Int64($1.bodyBytesSent)
    }
  }
}

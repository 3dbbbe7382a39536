import ArgumentParser
import HaulKit
import HaulStore

/// Runs a fixed list of transfers in a stored queue, and kills itself with SIGKILL at a given
/// point. Tests start it again and check the files.
///
/// It prints each acknowledged command, and the state of all transfers at its start and end.
@main
struct Drill: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "haul-drill")

  @Argument(help: "where the queue and the files are") var directory: String
  @Argument(help: "the base address of the files") var address: String
  @Option(help: "POINT:N: kills itself at the n-th passage of this point") var dieAt: String?
  @Option(help: "a script to run instead, in the steps `again` (may run twice) and `once`")
  var script: String?
  @Option(help: "the name of a failed transfer to retry instead") var retry: String?
  @Flag(help: "resumes the paused transfer at the end") var finish = false
  @Flag(help: "kills itself when nothing runs and nothing may start") var diesWhenEmpty = false
  @Option(help: "runs this many downloads instead, and prints how long the main thread was blocked")
  var watchMain: Int?
  @Option(help: "milliseconds to block the main thread for then") var blockMain: Int?

  @Option(help: "forgets this many managers of each kind instead, and prints what they left")
  var forget: Int?

  func run() async throws {
    if let forget { return try await DeallocatedManagers(drill: self, count: forget).run() }
    if let watchMain { return try await MainThreadWatch(self, watchMain).run() }
    let crashCounter = CrashCounter(diesAt: dieAt)
    var configuration = TransferManager.Configuration()
    configuration.hooks.reached = { crashCounter.pass($0) }
    configuration.maximumActive = 2
    // The commands must come before the ends.
    configuration.isSuspended = true
    let manager = try await TransferManager(
      directory: "\(directory)/queue", configuration,
      steps: ["note": { _ in announce("ran note") }])
    await report("begins", manager)
    if let script { return try await run(script, manager) }
    if let retry {
      announce("did retry", try await manager.retry(identified(retry)))
      await manager.unsuspend()
      await manager.waitUntilEmpty()
      await report("ends", manager)
      return await manager.shutdown()
    }
    try await command(manager)
    await manager.waitUntilEmpty()
    if diesWhenEmpty { CrashCounter.die() }
    _ = try await manager.remove(identified("first"))
    announce("did remove")
    if finish {
      _ = try await manager.resume(identified("paused"))
      await manager.waitUntilEmpty()
    }
    await report("ends", manager)
    await manager.shutdown()
    for (point, count) in crashCounter.counts { announce("passed \(point.rawValue) \(count)") }
  }

  private func run(_ script: String, _ manager: TransferManager) async throws {
    let steps = ["again", "once"].map { name in
      var step = TransferRequest.step(
        program: ["sh", "-c", script, "script", name], in: directory, isIdempotent: name == "again")
      step.identifier = name
      return step
    }
    try await manager.add(steps, key: "drill")
    await manager.unsuspend()
    await manager.waitUntilEmpty()
    await report("ends", manager)
    await manager.shutdown()
  }

  private func command(_ manager: TransferManager) async throws {
    // The key finds transfers that are already in the list.
    try await manager.add(requests(), key: "drill")
    announce("did add")
    _ = try await manager.move(identified("moved"), to: .first)
    announce("did move")
    if !finish { announce("did pause", try await manager.pause(identified("paused"))) }
    announce("did cancel", try await manager.cancel(identified("cancelled")))
    _ = try await manager.setPriority(.background, of: identified("second"))
    announce("did set")
    await manager.unsuspend()
  }

  private func requests() throws -> [TransferRequest] {
    func file(_ name: String, after: String...) throws -> TransferRequest {
      var request = TransferRequest.download(
        try ResourceURL("\(address)/\(name)"), to: .directory("\(directory)/files")
      ) { $0.connections = 1 }
      request.identifier = name
      request.after = after
      return request
    }
    var note = StepRequest(.named("note", input: nil))
    note.isIdempotent = true
    var step = TransferRequest(.step(note))
    step.identifier = "step"
    step.after = ["second"]
    return [
      try file("first"), try file("paused"), try file("cancelled"),
      try file("second", after: "first"),
      try file("behind", after: "first", "paused"), try file("untagged"), step, try file("moved"),
    ]
  }

  private func identified(_ name: String) -> TransferSelection {
    .filter { $0.identifier == name }
  }

  private func report(_ when: String, _ manager: TransferManager) async {
    for summary in await manager.summaries() {
      announce("\(when) \(summary.identifier ?? "") \(summary.state.rawValue) \(summary.priority)")
    }
    announce(when)
  }
}

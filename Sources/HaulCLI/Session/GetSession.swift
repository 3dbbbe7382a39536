import HaulCore
import HaulKit
import Logging

/// Runs one plan with a manager, and feeds the console with what happens.
struct GetSession {
  let plan: GetPlan
  let surroundings: Surroundings
  let interruptions: AsyncStream<Interruption>

  /// Runs until everything has ended or was stopped.
  func run() async -> ExitStatus {
    let (log, logLines) = AsyncStream.makeStream(
      of: String.self, bufferingPolicy: .bufferingNewest(4096))
    let manager: TransferManager
    do {
      manager = try TransferManager(
        plan.limits.configuration(
          logger: logger(to: logLines), environment: surroundings.environment))
    } catch {
      await OutputStream.standardError.write(Messages.usage(error.message) + "\n")
      return .usage
    }
    let console = GetConsole(
      expected: plan.requests.count, options: plan.output, surroundings: surroundings,
      standardOutput: .standardOutput, standardError: .standardError)
    let events = manager.events()
    do {
      try await manager.add(plan.requests)
    } catch {
      await OutputStream.standardError.write(Messages.usage(error.message) + "\n")
      return .failed
    }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await tick(console) }
      group.addTask { for await line in log { await console.log(line) } }
      group.addTask { await stop(manager, console) }
      await follow(events, manager, console)
      logLines.finish()
      group.cancelAll()
    }
    return await console.end()
  }

  private func logger(to lines: AsyncStream<String>.Continuation) -> Logger? {
    guard plan.output.verbose else { return nil }
    return Logger(label: "haul") { _ in StandardErrorLog(to: lines) }
  }

  /// Hands every event on, until the manager has shut down.
  private func follow(
    _ events: TransferEvents, _ manager: TransferManager, _ console: GetConsole
  ) async {
    var isStopping = false
    for await event in events {
      let verdict = await console.handle(event)
      guard !isStopping, verdict != .goOn else { continue }
      isStopping = true
      if verdict == .outputGone { await manager.pauseAll(by: .signal) }
      await manager.shutdown()
    }
  }

  private func tick(_ console: GetConsole) async {
    let clock = surroundings.clock
    while !Task.isCancelled {
      await console.tick()
      do {
        try await clock.sleep(until: clock.now + .milliseconds(100))
      } catch {
        return
      }
    }
  }

  /// Takes a checkpoint of everything when asked to end.
  private func stop(_ manager: TransferManager, _ console: GetConsole) async {
    for await cause in interruptions {
      await console.interrupt(cause)
      await manager.pauseAll(by: .signal)
      await manager.shutdown()
      return
    }
  }
}

import ArgumentParser
import HaulControl
import HaulCore

struct DaemonCommand: Command {
  enum Action: String, ExpressibleByArgument, CaseIterable { case start, stop, status }

  static let configuration = CommandConfiguration(
    commandName: "daemon", abstract: "Starts or stops the daemon, or says whether it runs.")

  @Argument(help: ArgumentHelp("start, stop or status.", valueName: "action"))
  var action: Action

  func plan(_ sources: CommandSources) -> any CommandPlan {
    switch action {
    case .start: ControlPlan(perform: start)
    case .stop: ControlPlan(comparesVersions: false, perform: stop)
    case .status: ControlPlan(perform: status)
    }
  }

  private func start(_ session: ControlSession) async throws -> ExitStatus {
    let (status, isNew) = try await session.ensureRunning()
    return await OutputStream.show(
      "the daemon \(isNew ? "was started" : "is already running") (pid \(status.pid))\n")
  }

  private static let stopTimeout: Duration = .seconds(30)

  private func stop(_ session: ControlSession) async throws -> ExitStatus {
    let pid = try await session.client.status().pid
    try await session.client.shutdown()
    let clock = session.context.clock
    let deadline = clock.now + Self.stopTimeout
    while ControlSession.isRunning(pid) {
      guard clock.now < deadline else {
        return await OutputStream.fail("the daemon (pid \(pid)) has not ended after 30 s")
      }
      try await clock.sleep(until: clock.now + .milliseconds(20))
    }
    return await OutputStream.show(
      "the daemon was stopped; its transfers resume when it runs again\n")
  }

  private func status(_ session: ControlSession) async throws -> ExitStatus {
    do {
      return await OutputStream.show(text(try await session.client.status()))
    } catch ControlClient.Failure.notRunning {
      return await OutputStream.show("the daemon is not running\n", then: .failed)
    }
  }

  private func text(_ status: StatusDocument) -> String {
    let counts = TransferState.allCases.compactMap { state in
      status.counts[state.rawValue].map { "\(Units.count($0)) \(state.rawValue)" }
    }
    let queue = status.isSuspended ? "; the queue is suspended" : ""
    let list = counts.isEmpty ? "the list is empty" : counts.joined(separator: ", ")
    let first =
      "the daemon is running (pid \(status.pid), version \(status.version)); \(list)\(queue)\n"
    return first + status.portWarnings.map { $0 + "\n" }.joined()
  }
}

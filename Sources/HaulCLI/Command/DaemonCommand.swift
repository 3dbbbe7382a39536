import ArgumentParser
import HaulControl
import HaulCore

struct DaemonCommand: Command {
  enum Action: String, ExpressibleByArgument, CaseIterable {
    case start, stop, restart, reload, status
  }

  static let configuration = CommandConfiguration(
    commandName: "daemon", abstract: "Starts or stops the daemon, or says whether it runs.",
    discussion: """
      'reload' makes it read haul.conf again while it runs; a wrong file changes nothing. \
      'restart' is for what needs one; it then runs in the background, as after 'start'.
      """)

  @Argument(help: ArgumentHelp("start, stop, restart, reload or status.", valueName: "action"))
  var action: Action

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    switch action {
    case .start: ControlPlan(perform: start)
    case .stop: ControlPlan(comparesVersions: false, perform: stop)
    case .restart:
      try checked(sources)
    case .reload: ControlPlan(perform: reload)
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
    if let pid = try await end(session) { return await Self.stays(pid) }
    return await OutputStream.show(
      "the daemon was stopped; its transfers resume when it runs again\n")
  }

  /// What is wrong in haul.conf would leave no daemon at all.
  private func checked(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    let plan = try ServePlan.configured(sources)
    return ControlPlan(comparesVersions: false) { session in
      let access = try AccessList(file: session.location.access)
      if let refusal = plan.remote.refusal(hasPassword: access.password != nil) { throw refusal }
      return try await restart(session)
    }
  }

  private func restart(_ session: ControlSession) async throws -> ExitStatus {
    do {
      if let pid = try await end(session) { return await Self.stays(pid) }
    } catch ControlClient.Failure.notRunning {
      // Then it only starts.
    }
    let (status, _) = try await session.ensureRunning()
    return await OutputStream.show("the daemon was started again (pid \(status.pid))\n")
  }

  private func reload(_ session: ControlSession) async throws -> ExitStatus {
    await OutputStream.show(try await session.client.reload().text + "\n")
  }

  private static func stays(_ pid: Int32) async -> ExitStatus {
    await OutputStream.fail("the daemon (pid \(pid)) has not ended after 30 s")
  }

  /// - Returns: its process if it has not ended in time.
  private func end(_ session: ControlSession) async throws -> Int32? {
    let pid = try await session.client.status().pid
    try await session.client.shutdown()
    let clock = session.context.clock
    let deadline = clock.now + Self.stopTimeout
    while ControlSession.isRunning(pid) {
      guard clock.now < deadline else { return pid }
      try await clock.sleep(until: clock.now + .milliseconds(20))
    }
    return nil
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
    let certificate = status.fingerprint.map { ["certificate (SHA-256): \($0)"] } ?? []
    return first + (certificate + status.warnings).map { $0 + "\n" }.joined()
  }
}

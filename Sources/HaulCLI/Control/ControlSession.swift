import FoundationEssentials
import HaulControl
import HaulCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Carries out a command through the daemon.
struct ControlSession {
  let plan: ControlPlan
  let context: ProcessContext
  let executable: String
  /// The `umask` of this process, which the files get.
  let creationMask: UInt32
  /// For `watch`; the other commands end at once.
  var interruptions: AsyncStream<Interruption>?

  func run() async -> ExitStatus {
    do {
      let location = try ControlLocation(environment: context.environment)
      return try await ControlClient.with(location) { client in
        do {
          let status = try await perform(
            client,
            DaemonLauncher(
              location: location, executable: executable, environment: context.environment))
          await compareVersions(client)
          return status
        } catch {
          await compareVersions(client)
          throw error
        }
      }
    } catch let error as UsageError {
      await warn(error.message)
      return .usage
    } catch let error as TransferError {
      return await fail(error.message)
    } catch let failure as ControlClient.Failure {
      switch failure {
      case .notRunning where plan == .status:
        return await show("the daemon is not running\n", then: .failed)
      case .notRunning:
        return await fail("the daemon is not running; start it with: haul daemon start")
      case .broken(let why) where plan.isWait: return await leftWaiting(why)
      case .refused(let problem) where plan.isWait && problem.status == 503:
        return await leftWaiting(problem.detail)
      case .refused(let problem): return await fail(problem.detail)
      case .broken(let why): return await fail(why)
      }
    } catch {
      return await fail("\(error)")
    }
  }

  private func compareVersions(_ client: ControlClient) async {
    guard plan != .stop, let version = client.daemonVersion, version != HaulVersion.text else {
      return
    }
    await warn(
      "the daemon has version \(version), this is \(HaulVersion.text); restart it with: "
        + "haul daemon stop && haul daemon start")
  }

  private func perform(
    _ client: ControlClient, _ launcher: DaemonLauncher
  ) async throws -> ExitStatus {
    switch plan {
    case .add(let plan): return try await add(plan, client, launcher)
    case .list(let group, let limit, let json):
      return try await list(group, limit > 0 ? limit : .max, json, client)
    case .names(let groups): return try await names(groups, client)
    case .show(let name, let json):
      let transfer = try await client.transfer(name)
      return await show(json ? try JSONLines.line(of: transfer) : TransferText.details(transfer))
    case .explain(let name):
      let transfer = try await client.transfer(name)
      return await show(
        TransferText.explanation(
          transfer, isRemoved: await isRemoved(transfer.waiting, client),
          isPaused: await isPaused(transfer.waiting, client),
          closedLimit: try await closedLimit(transfer.waiting, client)))
    case .perform(let body):
      let answer = try await client.perform(body)
      if answer.ids.isEmpty, let group = body.transfers.group { return await isEmpty(group) }
      let status = await report(answer, isNamed: body.transfers.ids != nil)
      if body.transfers.ids != nil { try await explain(body.command, answer, client) }
      return status
    case .change(let name, let change): return try await self.change(name, change, client)
    case .setSuspended(let isSuspended):
      try await client.setSuspended(isSuspended)
      return .completed
    case .wait(let transfers):
      let answer = try await client.wait(for: transfers)
      if answer.isSettled, answer.count == 0, let group = transfers.group {
        return await isEmpty(group)
      }
      return status(of: answer)
    case .watch(let names, let group, let json):
      return try await watch(names, group, json, client)
    case .start:
      let (status, isNew) = try await launcher.ensureRunning(client, clock: context.clock)
      return await show(
        "the daemon \(isNew ? "was started" : "is already running") (pid \(status.pid))\n")
    case .stop: return try await stop(client)
    case .page(let opens): return try await page(opens, client, launcher)
    case .sessions: return try await sessions(client)
    case .endSession(let name): return try await endSession(name, client)
    case .status: return await show(text(try await client.status()))
    }
  }

  private func change(
    _ name: String, _ change: ChangeBody, _ client: ControlClient
  ) async throws -> ExitStatus {
    let old = change.url == nil ? nil : try await client.transfer(name).origin
    let new = try await client.change(name, change).origin
    if let old, new != old {
      await warn(
        "\(old) was another server: its header fields, trusted hosts and --insecure no longer apply"
      )
    }
    return .completed
  }

  /// The limit that lets nothing start, if it waits for one.
  private func closedLimit(
    _ wait: TransferDocument.Wait?, _ client: ControlClient
  ) async throws(ControlClient.Failure) -> String? {
    guard let code = wait?.code, code == "slot" || code == "host-limit" else { return nil }
    let limits = try await client.limits()
    let closing = [
      ("active", limits.active), ("connections", limits.connections),
      ("connections_per_host", limits.connectionsPerHost),
    ]
    return closing.first { $0.1 == 0 }?.0
  }

  /// Whether the dependency that blocks it is no longer in the list.
  private func isRemoved(_ wait: TransferDocument.Wait?, _ client: ControlClient) async -> Bool {
    guard wait?.isBlocked == true, let dependency = wait?.transfer else { return false }
    do throws(ControlClient.Failure) {
      _ = try await client.transfer("\(dependency)")
    } catch {
      if case .refused(let problem) = error { return problem.status == 404 }
    }
    return false
  }

  /// Whether it waits for a transfer that is paused.
  private func isPaused(_ wait: TransferDocument.Wait?, _ client: ControlClient) async -> Bool {
    guard let dependency = wait?.transfer else { return false }
    return (try? await client.transfer("\(dependency)"))?.state == .paused
  }

  private func add(
    _ plan: AddPlan, _ client: ControlClient, _ launcher: DaemonLauncher
  ) async throws -> ExitStatus {
    let requests: [TransferRequest]
    do {
      requests = try WorkingDirectory.resolve(plan.requests, in: WorkingDirectory.path)
    } catch {
      throw UsageError(error.message)
    }
    let (daemon, isNew) = try await launcher.ensureRunning(client, clock: context.clock)
    if isNew, !plan.quiet {
      await warn("started the daemon (pid \(daemon.pid)); stop it with: haul daemon stop")
    }
    if !plan.quiet { for note in plan.notes { await warn(note) } }
    var after: [TransferRequest.Dependency] = []
    for name in plan.after {
      let found = try await client.transfer(name)
      // The daemon decides whether an identifier may be used.
      after.append(found.identifier == name ? .identifier(name) : .transfer(found.id))
    }
    let new = try requests.map { request in
      var request = request
      request.after = after
      request.download?.creationMask = creationMask
      return try NewTransfer(request)
    }
    // A connection may break after the daemon has added them: the same key adds nothing twice.
    let key = "\(UInt64.random(in: .min ... .max))"
    var (ids, status) = ([TransferID](), ExitStatus.completed)
    for start in stride(from: 0, to: new.count, by: AddBody.maximumCount) {
      let part = new[start..<min(start + AddBody.maximumCount, new.count)]
      // A name that another transfer has would hide that nothing is done.
      let isNamed = part.contains { $0.identifier != nil }
      let body = AddBody(transfers: Array(part), ifKnown: isNamed ? .match : nil)
      let answer = try await client.add(body, key: "\(key)-\(start)")
      ids += answer.ids
      // If a later call fails, these were added.
      if !plan.json { status = await show(answer.ids.map { "\($0)\n" }.joined()) }
    }
    return plan.json ? await show(try JSONLines.line(of: AddResponse(ids: ids))) : status
  }

  /// Says why a start or a retry of a blocked transfer has no effect yet, and a pause of a program.
  private func explain(
    _ command: CommandBody.Name, _ answer: CommandResponse, _ client: ControlClient
  ) async throws(ControlClient.Failure) {
    guard command == .start || command == .retry || command == .pause else { return }
    let refused = Set(answer.refused.map(\.id))
    for id in answer.ids where !refused.contains(id) {
      guard let transfer = try await known("\(id)", client) else { continue }
      let isBlocked = command != .pause && transfer.waiting?.isBlocked == true
      guard isBlocked || transfer.runsToEnd else { continue }
      let isRemoved = await isRemoved(transfer.waiting, client)
      let why = TransferText.explanation(transfer, isRemoved: isRemoved).dropLast()
      await warn("\(id): \(isBlocked ? "it does not start yet: " : "")\(why)")
    }
  }

  /// Nil if the list has no such transfer.
  private func known(
    _ name: String, _ client: ControlClient
  ) async throws(ControlClient.Failure) -> TransferDocument? {
    do throws(ControlClient.Failure) {
      return try await client.transfer(name)
    } catch {
      // Several ids may begin with a new name.
      if case .refused(let problem) = error, [404, 409].contains(problem.status) { return nil }
      throw error
    }
  }

  private func page(
    _ opens: Bool, _ client: ControlClient, _ launcher: DaemonLauncher
  ) async throws -> ExitStatus {
    let (daemon, _) = try await launcher.ensureRunning(client, clock: context.clock)
    for port in daemon.takenPorts { await warn(Self.taken(port)) }
    let page = try await client.page(withFile: opens && context.hasDesktop)
    let status = await show(page.url + "\n")
    if let file = page.file, status == .completed, !Browser.open(file, context.environment) {
      await warn("no browser could be started; open the address yourself")
    }
    return status
  }

  private static let pageSize = 1000
  private static let stopTimeout: Duration = .seconds(30)

  private func list(
    _ group: String?, _ limit: Int, _ json: Bool, _ client: ControlClient
  ) async throws -> ExitStatus {
    var transfers: [TransferDocument] = []
    var last: TransferID?
    repeat {
      let room = min(limit - transfers.count, Self.pageSize)
      let page = try await client.transfers(after: last, group: group, atMost: room)
      transfers += page.transfers
      last = page.next
    } while last != nil && transfers.count < limit
    if json { return await show(try transfers.map(JSONLines.line).joined()) }
    guard !transfers.isEmpty else {
      let why = group.map { "no transfer is in the group \(Messages.shown($0))" }
      return await show("\(why ?? "the list is empty")\n")
    }
    let width = context.standardOutputIsTerminal ? context.size.width : nil
    let status = await show(
      ListTable(transfers).text(width: width, mark: context.style.mark))
    if last != nil { await warn("there are more; to list all: haul list --limit 0") }
    return status
  }

  /// Prints ids and names given with --id, or group names, one per line, for shell completion.
  private func names(_ groups: Bool, _ client: ControlClient) async throws -> ExitStatus {
    let names = try await client.transfers(atMost: Self.pageSize).transfers.flatMap { transfer in
      groups ? [transfer.group] : [transfer.id.description, transfer.identifier]
    }.compactMap(\.self)
    return await show(NameCompletion.lines(names))
  }

  private func watch(
    _ names: [String], _ group: String?, _ json: Bool, _ client: ControlClient
  ) async throws -> ExitStatus {
    if let group, try await client.transfers(group: group, atMost: 1).transfers.isEmpty {
      return await isEmpty(group)
    }
    var scope = group.map(WatchReport.Scope.group) ?? .all
    if !names.isEmpty {
      var ids: Set<TransferID> = []
      for name in names { ids.insert(try await client.transfer(name).id) }
      scope = .ids(ids)
    }
    let session = WatchSession(
      context: context, scope: scope, json: json, interruptions: interruptions)
    if let status = try await session.run(client) { return status }
    return await leftWaiting("the daemon was stopped; start it with: haul daemon start")
  }

  /// The daemon ended first. Nothing has failed: the transfers resume when it runs again.
  private func leftWaiting(_ why: String) async -> ExitStatus {
    await warn(why)
    return .stopped
  }

  private func stop(_ client: ControlClient) async throws -> ExitStatus {
    let pid = try await client.status().pid
    try await client.shutdown()
    let clock = context.clock
    let deadline = clock.now + Self.stopTimeout
    while Self.isRunning(pid) {
      guard clock.now < deadline else {
        return await fail("the daemon (pid \(pid)) has not ended after 30 s")
      }
      try await clock.sleep(until: clock.now + .milliseconds(20))
    }
    return await show("the daemon was stopped; its transfers resume when it runs again\n")
  }

  private static func isRunning(_ pid: Int32) -> Bool {
    guard kill(pid, 0) == 0 || errno == EPERM else { return false }
    // A process stays a zombie if its parent does not wait for it.
    let status = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
    return status?.byteSplit(separator: ")").last?.hasBytePrefix(" Z") != true
  }

  private func isEmpty(_ group: String) async -> ExitStatus {
    await warn("no transfer is in the group '\(group)'")
    return .failed
  }

  /// - Parameter isNamed: whether the user named each transfer. For a group, or for all, refusals
  ///   because of the state are not reported.
  private func report(_ answer: CommandResponse, isNamed: Bool) async -> ExitStatus {
    let refused = answer.refused.filter { isNamed || !$0.reason.isOfState }
    for refusal in refused { await warn("\(refusal.id): \(refusal.message)") }
    for path in answer.left {
      await warn("\(path) was not deleted: it has changed, or the daemon may not delete it")
    }
    return refused.isEmpty && answer.left.isEmpty ? .completed : .failed
  }

  private func status(of answer: WaitResponse) -> ExitStatus {
    if answer.failed > 0 { return .failed }
    return answer.paused + answer.cancelled + answer.removed > 0 ? .stopped : .completed
  }

  private func text(_ status: StatusDocument) -> String {
    let counts = TransferState.allCases.compactMap { state in
      status.counts[state.rawValue].map { "\(Units.count($0)) \(state.rawValue)" }
    }
    let queue = status.isSuspended ? "; the queue is suspended" : ""
    let list = counts.isEmpty ? "the list is empty" : counts.joined(separator: ", ")
    let first =
      "the daemon is running (pid \(status.pid), version \(status.version)); \(list)\(queue)\n"
    return first + status.takenPorts.map { Self.taken($0) + "\n" }.joined()
  }
}

/// Output.
extension ControlSession {
  func show(_ text: String, then status: ExitStatus = .completed) async -> ExitStatus {
    let outcome = await OutputStream.standardOutput.write(text)
    return outcome == .written ? status : outcome.status
  }

  private func warn(_ message: String) async {
    await OutputStream.standardError.write(Messages.usage(message) + "\n")
  }

  func fail(_ message: String) async -> ExitStatus {
    await warn(message)
    return .failed
  }
}

extension CommandRefusal {
  /// Whether only the state of the transfer refuses the command.
  fileprivate var isOfState: Bool {
    switch self {
    case .isCompleted, .hasFailed, .isCancelled, .isRunning: true
    case .isBeingCancelled, .isBeingRemoved, .targetIsTaken, .isUnknown: false
    }
  }
}

extension TransferDocument {
  fileprivate var origin: ResourceURL.Origin? { url.flatMap { try? ResourceURL($0) }?.origin }
}

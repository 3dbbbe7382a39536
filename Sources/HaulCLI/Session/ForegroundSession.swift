import HaulCache
import HaulControl
import HaulCore
import HaulKit

/// Runs the transfers of one command with a manager, and passes its events to the console.
struct ForegroundSession {
  let requests: [TransferRequest]
  var managerOptions: ManagerOptions
  let output: OutputOptions
  /// For each request, the number of its address in the arguments, from 1.
  let indices: [Int]
  /// What follows the requests; nil if they are all.
  let rest: InputRest?
  /// Lines for standard error, before the start.
  var notes: [String] = []
  var usesCache = false
  /// Nil without one.
  var manifest: RunManifest?
  /// Why the run is no success although its transfers are; nil for none.
  var problem: String?
  let context: ProcessContext

  /// Runs until all transfers have ended or were stopped, within the limits of the process.
  func run() async -> ExitStatus {
    if let refusal = context.limits.refusal { return await OutputStream.fail(refusal) }
    let signals = Signals.takeOver(draining: output.drain)
    var session = self
    if let lowered = context.limits.apply(to: &session.managerOptions), !output.quiet {
      await OutputStream.warn(lowered)
    }
    do {
      let recorder = try session.openManifest()
      if session.requests.isEmpty, session.rest == nil, let manifest {
        if !output.quiet {
          await OutputStream.warn("all files are complete, by \(manifest.name)")
        }
        if let problem { return await OutputStream.fail(problem) }
        return .completed
      }
      return await session.run(until: signals.interruptions, recorder)
    } catch {
      return await OutputStream.fail(error.message, with: status(of: error))
    }
  }

  /// The status of a run that this error ends.
  private func status(of error: TransferError) -> ExitStatus {
    output.drain != nil && error.isTemporary ? .tryAgain : .failed
  }

  private mutating func openManifest() throws(TransferError) -> ManifestRecorder? {
    guard let manifest else { return nil }
    let further = rest?.count ?? 0
    let recorder = try ManifestRecorder(manifest, requests, further: further, context.clock)
    if manifest.complete > 0 {
      let count = manifest.complete + requests.count + further
      notes.append("\(manifest.complete) of \(count) files are complete, by \(manifest.name)")
    }
    return recorder
  }

  private func run(
    until interruptions: AsyncStream<Interruption>, _ recorder: ManifestRecorder?
  ) async -> ExitStatus {
    let (log, logLines) = AsyncStream.makeStream(
      of: String.self, bufferingPolicy: .bufferingNewest(4096))
    let manager: TransferManager
    let cache: CachingTransport?
    var notes = notes
    do {
      var configuration = try managerOptions.configuration(
        logger: output.verbose ? StandardErrorLog.logger(to: logLines) : nil,
        environment: context.environment)
      configuration.uploadDirectory = try uploadDirectory()
      configuration.keyAccess = S3KeyAccess(context.environment)
      var problem: TransferError?
      (cache, problem) = try await cachingTransport(configuration)
      if let problem { notes.append("the cache is not used: \(problem.message)") }
      manager = try TransferManager(configuration, transport: cache)
    } catch {
      return await OutputStream.fail(error.message, with: .usage)
    }
    do {
      var probe = StoreProbe(output, context)
      notes += try await probe.run(requests.compactMap(\.upload), manager)
    } catch {
      return await OutputStream.fail(error.message, with: status(of: error))
    }
    if !output.quiet {
      let notes = notes.map { Messages.usage($0) + "\n" }.joined()
      await OutputStream.standardError.write(notes)
    }
    let console = ForegroundConsole(
      indices: indices, further: rest?.count ?? 0, options: output, context: context,
      standardOutput: .standardOutput, standardError: .standardError)
    let feeder = rest.map { rest in
      InputFeeder(
        rest, in: manager, members: requests.count,
        willAdd: { (requests) throws(TransferError) in try await recorder?.willAdd(requests) }
      ) { (transfers, requests, indices) throws(TransferError) in
        await console.expect(indices)
        try await recorder?.note(transfers, of: requests)
      }
    }
    let events = manager.events()
    let metrics = output.metricsFile.map { MetricsFile($0, output, context.clock) }
    let transfers: [Transfer]
    do {
      // A file that cannot be written is reported before anything begins.
      try await metrics?.write(manager, feeder)
      transfers = try await add(to: manager)
    } catch {
      return await OutputStream.fail(error.message, with: status(of: error))
    }
    await recorder?.begin(transfers)
    // Not a child task: a reader that has stopped reading may block it, and then it is not awaited.
    let copying = output.streams ? transfers.first : nil
    if let copying { Task { await copy(copying, manager, console) } }
    let (end, ends) = AsyncStream.makeStream(of: Void.self)
    Task {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await tick(console) }
        if let feeder { group.addTask { await feed(feeder, manager, console) } }
        group.addTask { for await line in log { await console.log(line) } }
        group.addTask { await stop(manager, feeder, console, ends, on: interruptions) }
        group.addTask { await metrics?.follow(manager, feeder) }
        await follow(events, manager, feeder, console, recorder, metrics)
        logLines.finish()
        group.cancelAll()
      }
      await cache?.shutdown()
      ends.finish()
    }
    for await _ in end {}
    do {
      try await recorder?.finish()
      try await metrics?.write(manager, feeder)
    } catch {
      await console.refuse(Messages.usage(error.message), with: status(of: error))
    }
    if let problem { await console.refuse(Messages.usage(problem)) }
    return await console.end()
  }

  private func add(to manager: TransferManager) async throws(TransferError) -> [Transfer] {
    guard let input = output.input, let request = requests.first else {
      return try await manager.add(requests)
    }
    return [try await manager.add(request, bytes: InputBytes(descriptor: input))]
  }

  /// Where the addresses of unfinished uploads are stored, in the directory of the daemon; nil if
  /// nothing resumes.
  private func uploadDirectory() throws(TransferError) -> String? {
    let uploads = requests.compactMap(\.upload).filter(\.keepsRecord)
    guard !uploads.isEmpty else { return nil }
    if let directory = output.recordDirectory { return directory }
    do throws(TransferError) {
      let location = try ControlLocation(environment: context.environment)
      try location.prepareDirectory()
      return location.uploads
    } catch {
      // Then an upload that is interrupted begins anew, as with a server that does not resume.
      if uploads.allSatisfy({ $0.method.uploadProtocol.resuming == .ifOffered }) { return nil }
      throw error
    }
  }

  /// The user's cache before the network, and why it passes everything on; nil if it is not used.
  /// - Throws: `permission-denied` if others may use its directory, and errors of the options.
  private func cachingTransport(
    _ configuration: TransferManager.Configuration
  ) async throws(TransferError) -> (CachingTransport?, TransferError?) {
    guard usesCache else { return (nil, nil) }
    let directory = try UserCache.directory(context.environment)
    var problem: TransferError?
    do throws(TransferError) {
      try PrivateDirectory.prepare(directory, "cache", variable: "XDG_CACHE_HOME")
    } catch {
      if error.code == .permissionDenied { throw error }
      problem = error
    }
    let digests = requests.compactMap(\.download).map { ($0.url, $0.checksums) }
    let transport = try CachingTransport(
      UserCache.configuration, at: directory, configuration,
      for: Dictionary(digests, uniquingKeysWith: +))
    if problem == nil { problem = await transport.open() } else { transport.bypassCache() }
    return (transport, problem)
  }

  /// How long to wait for transfers to stop: a disk or a name server may block for minutes.
  private static let stopTimeout: Duration = .milliseconds(700)

  /// Many files end at the same moment: their events are handled together.
  private static let eventsAtOnce = 256

  /// Passes on every event, until the manager has shut down.
  private func follow(
    _ events: TransferEvents, _ manager: TransferManager, _ feeder: InputFeeder?,
    _ console: ForegroundConsole, _ recorder: ManifestRecorder?, _ metrics: MetricsFile?
  ) async {
    var isStopping = false
    while true {
      var some = await events.next(atMost: Self.eventsAtOnce)
      guard !some.isEmpty else { return }
      let mayBeMore = some.count == Self.eventsAtOnce
      if let feeder { some = await feeder.note(some) }
      await recorder?.note(some)
      await metrics?.note(some)
      let verdict = await console.handle(some)
      guard !isStopping, verdict != .ongoing else {
        // Those that wait are handled at once: their ends make room for further files.
        if mayBeMore { continue }
        // Gathers more events: waking up for each costs more than handling it. Of one file, the
        // first is soon followed by the last.
        let clock = context.clock
        let pause: Duration = indices.count > 1 ? .milliseconds(10) : .milliseconds(5)
        try? await clock.sleep(until: clock.now + pause)  // ends early when cancelled
        continue
      }
      isStopping = true
      await feeder?.close()
      if verdict == .outputGone { await manager.pauseAll(by: .signal) }
      await manager.shutdown()
    }
  }

  /// Writes the file to standard output as it arrives; stops everything if the reader is gone.
  private func copy(_ transfer: Transfer, _ manager: TransferManager, _ console: ForegroundConsole)
    async
  {
    let standardOutput = OutputStream.standardOutput
    let isShown = context.standardOutputIsTerminal && !output.discards
    standardOutput.widenPipe()
    do {
      for try await chunk in try await manager.bytes(of: transfer) {
        if output.discards { continue }
        let isRefused = isShown && chunk.withUnsafeBytes { $0.contains(0) }
        let outcome = isRefused ? .written : await standardOutput.write(chunk)
        guard isRefused || outcome != .written else { continue }
        if isRefused { await console.refuse(Messages.binary) }
        await console.notice(outcome)
        await manager.pauseAll(by: .signal)
        await manager.shutdown()
        return
      }
    } catch {
      // The end of the transfer reports the error.
    }
  }

  private func tick(_ console: ForegroundConsole) async {
    await repeatedly { await console.tick() }
  }

  /// Adds what follows the first transfers. Not with the progress, which a terminal may hold up.
  private func feed(
    _ feeder: InputFeeder, _ manager: TransferManager, _ console: ForegroundConsole
  ) async {
    await repeatedly {
      do throws(TransferError) {
        try await feeder.fill()
      } catch {
        await console.refuse(Messages.usage(error.message), with: status(of: error))
        await feeder.close()
        await manager.pauseAll(by: .signal)
        await manager.shutdown()
      }
    }
  }

  /// Ten times a second, until the task is cancelled.
  private func repeatedly(_ action: () async -> Void) async {
    let clock = context.clock
    while !Task.isCancelled {
      await action()
      do {
        try await clock.sleep(until: clock.now + .milliseconds(100))
      } catch {
        return
      }
    }
  }

  /// Pauses everything and shuts down on a request to end, after SIGTERM to a worker once what runs
  /// had its time; ends the run after `stopTimeout` at the latest.
  private func stop(
    _ manager: TransferManager, _ feeder: InputFeeder?, _ console: ForegroundConsole,
    _ ends: AsyncStream<Void>.Continuation, on interruptions: AsyncStream<Interruption>
  ) async {
    for await cause in interruptions {
      await console.interrupt(cause)
      let clock = context.clock
      if cause == .terminate, let time = output.drain, time > .zero {
        if !output.quiet { await console.log(Messages.draining(for: time)) }
        await drain(manager, feeder, for: time)
        if Task.isCancelled { return }
      }
      Task {
        try? await clock.sleep(until: clock.now + Self.stopTimeout)  // never cancelled
        ends.finish()
      }
      await feeder?.close()
      await manager.pauseAll(by: .signal)
      await manager.shutdown()
      return
    }
  }

  /// Lets what runs end, and nothing else begin, for some time.
  private func drain(
    _ manager: TransferManager, _ feeder: InputFeeder?, for time: Duration
  ) async {
    let (clock, active) = (context.clock, managerOptions.maximumActive)
    await withTaskGroup(of: Void.self) { group in
      // Ends early when cancelled.
      group.addTask { try? await clock.sleep(until: clock.now + time) }
      group.addTask {
        await manager.setLimits(maximumActive: 0)
        await feeder?.close()
        // A list in memory takes every change.
        _ = try? await manager.perform(.pause, .filter { $0.state == .queued }, by: .signal)
        // What runs needs its slot again after a failed attempt.
        await manager.setLimits(maximumActive: active)
        await manager.waitUntilEmpty()
      }
      await group.next()
      group.cancelAll()
    }
  }
}

import HaulCore
import HaulFiles
import NIOConcurrencyHelpers

/// One run of an upload: passes events to the machine, and performs its commands.
struct UploadRun: ~Copyable {
  private enum Message: Sendable {
    case order(RunOrder)
    /// The request of a part, or the reading of it, has ended; nil if it was stopped.
    case ended(part: Int, UploadEvent?)
    /// The wait that was set to end at this instant is over.
    case retryDue(Instant)
  }

  private let driver: UploadDriver
  private let sources: [UploadSource]
  /// Of all that is sent, in bytes.
  private let length: Int64
  /// Nil if the protocol cannot resume, or nothing is stored.
  private let recordFile: UploadRecordFile?
  private let context: RunContext
  private let started: Instant
  private var machine: any UploadMachine
  /// What the next attempt needs.
  private var record: UploadRecord?
  /// The bytes that the server is known to have.
  private var acknowledged: Int64 = 0
  /// Those that it had from earlier runs.
  private var reused: Int64 = 0
  /// The checksum that the server has computed of the file.
  private var verified: Checksum?
  private let progress: UploadProgress
  private let messages: AsyncStream<Message>
  private let inbox: AsyncStream<Message>.Continuation
  /// Work to run concurrently with the loop.
  private var helpers: [@Sendable () async -> Void] = []
  /// Stops the requests, and the reading, of the parts in progress.
  private var stops: [Int: StopSignal] = [:]
  /// When the next attempt is due, after a failure.
  private var retryAt: Instant?
  /// The order to stop, if there was one.
  private var stopOrder: RunOrder?
  private var end: RunEnd?
  /// Whether the server keeps an upload that is no longer wanted. Its record stays: the next run to
  /// the same address continues it, or deletes it.
  private(set) var leavesUpload = false

  private var id: TransferID { context.id }
  private var engine: Engine { context.engine }
  private var request: UploadRequest { driver.request }
  /// The host under which the scheduler knows the transfer.
  private var host: String { request.url.origin.authority }

  init(
    _ driver: UploadDriver, _ sources: [UploadSource], _ recordFile: UploadRecordFile?,
    _ context: RunContext
  ) {
    self.driver = driver
    self.sources = sources
    let form = driver.form(of: sources, context.engine)
    length = form?.length ?? sources[0].identity.size
    self.recordFile = recordFile
    self.context = context
    started = context.engine.clock.now
    machine = driver.machine(of: sources[0].identity, form, context.engine)
    record =
      driver.startsOver
      ? nil
      : recordFile?.record
        ?? context.engine.uploadRecords.withLockedValue { [id = context.id] in $0[id] }
    progress = UploadProgress(context, length: length)
    (messages, inbox) = AsyncStream.makeStream()
  }

  /// Returns when the upload has ended or is paused: its connection is closed.
  mutating func perform() async -> RunEnd {
    context.receiveOrders { [inbox] in inbox.yield(.order($0)) }
    engine.heartbeat.add(progress)
    await begin()
    await withDiscardingTaskGroup { group in
      var reader = messages.makeAsyncIterator()
      while end == nil {
        for helper in helpers { group.addTask { await helper() } }
        helpers = []
        guard let message = await reader.next(isolation: #isolation) else { break }
        await receive(message)
        // It was told to stop, and nothing more is begun.
        if stopOrder != nil, stops.isEmpty, end == nil { endStopped() }
      }
      group.cancelAll()
    }
    progress.close()
    if case .cancel? = stopOrder, let record {
      leavesUpload = !(await request.terminate(record, engine))
    }
    return end ?? .paused
  }

  private mutating func receive(_ message: Message) async {
    switch message {
    case .order(.slotGranted):
      retryAt = nil
      await begin()
    case .order(.forceStop): break
    case .order(let order): stop(order)
    case .retryDue(let instant):
      // The wait may have ended early.
      guard instant == retryAt else { return }
      retryAt = nil
      await context.report(.slotRequested)
    case .ended(let part, let event):
      stops[part] = nil
      progress.end(part)
      guard let event else { return }
      if case .failed(let error, _, _) = event, engine.isOffline(error) {
        end = .suspended(.offline)
        return
      }
      await noteHost(before: event)
      await handle(event)
    }
  }

  /// Stops the requests. If the server has answered meanwhile, the answer counts.
  private mutating func stop(_ order: RunOrder) {
    stopOrder = order
    for stop in stops.values { stop.stop() }
  }

  private mutating func endStopped() {
    switch stopOrder {
    case .cancel: end = .finished(result(.cancelled))
    default: end = .paused
    }
  }

  /// Begins an attempt if the connection of its slot is still available. If the host now has a
  /// pause or a lower limit, it releases the slot and waits in its old position.
  private mutating func begin() async {
    let (host, id) = (host, id)
    let now = engine.clock.now
    let most = driver.maximumConnections(for: sources[0].identity)
    let connections = engine.scheduler.update { scheduler in
      guard scheduler.pauseEnd(of: host).map({ $0 <= now }) ?? true else { return 0 }
      var granted = 0
      while granted < most, scheduler.grantConnection(for: id) { granted += 1 }
      return granted
    }
    if connections > 0 { return await handle(.start(record, connections: connections)) }
    await context.report(.slotReleased(until: nil))
    await context.report(.slotRequested)
  }

  private mutating func noteHost(before event: UploadEvent) async {
    let id = id
    switch event {
    case .answered:
      if engine.scheduler.update({ $0.hostAnswered(for: id) }) {
        await context.report(.slotsChanged)
      }
    case .failed:
      machine.attempts.hostHealth = engine.scheduler.update { $0.hostHealth(for: id) }
    case .start, .stored, .digested, .sourceChecked: break
    }
  }

  private mutating func handle(_ event: UploadEvent) async {
    var random = engine.random
    for command in machine.handle(event, at: engine.clock.now, using: &random) {
      await perform(command)
    }
  }

  private mutating func perform(_ command: UploadCommand) async {
    switch command {
    case .send(let message): send(message)
    case .digest(let range, let part, let algorithms): digest(range, part, algorithms)
    case .storeRecord(let record): await store(record)
    case .deleteRecord:
      record = nil
      engine.uploadRecords.withLockedValue { [id] in $0[id] = nil }
      // It does not fail.
      if let recordFile { try? await engine.io.run { recordFile.clear() } }
    case .reportAcknowledged(let bytes):
      if progress.sentInAll == 0 { reused = bytes }
      acknowledged = bytes
      progress.acknowledge(bytes)
    case .reportVerified(let checksum): verified = checksum
    case .checkSource:
      let sources = sources
      do throws(TransferError) {
        try await engine.io.run { () throws(TransferError) in
          for source in sources { try source.check() }
        }
        await handle(.sourceChecked(nil))
      } catch {
        await handle(.sourceChecked(error))
      }
    case .retry(let delay, let attempt, let error): await retry(after: delay, attempt, error)
    case .finish(.completed):
      engine.hub.emit(
        progress: TransferProgress(bytes: length, total: length, rate: averageRate), of: id,
        context.identity)
      end = .finished(result(.completed))
    case .finish(.failed(let error)):
      end = .finished(result(.failed, error: error))
    }
  }

  private mutating func store(_ record: UploadRecord) async {
    self.record = record
    guard let recordFile else {
      engine.uploadRecords.withLockedValue { [id] in $0[id] = record }
      return await handle(.stored(nil))
    }
    do throws(TransferError) {
      try await engine.io.run { () throws(TransferError) in try recordFile.store(record) }
      await handle(.stored(nil))
    } catch {
      await handle(.stored(error))
    }
  }

  private mutating func send(_ message: UploadMessage) {
    // The answer before came just as it was told to stop.
    guard stopOrder == nil else { return }
    if progress.sentInAll == 0 {
      engine.hub.emit(.phase(.connecting, reason: nil), of: id, context.identity)
    }
    let (stop, part) = (StopSignal(), message.part)
    stops[part] = stop
    let pieces = message.pieces ?? message.range.map { [.file(0, $0)] }
    let body = pieces.map {
      UploadBody(sources: sources, pieces: $0, part: part, context: context, progress: progress)
    }
    progress.begin(part, count: body?.length ?? 0, takesLong: message.takesLong, stop)
    let outgoing = SendRequest(
      message, body: body, allowInsecure: request.allowInsecure, at: engine.clock.wallSeconds)
    helpers.append { [engine, inbox, progress, outgoing] in
      let task = Task(executorPreference: engine.soleExecutor) {
        try await engine.transport.send(outgoing)
      }
      stop.whenStopped { task.cancel() }
      let result = await withTaskCancellationHandler {
        await task.result
      } onCancel: {
        task.cancel()
      }
      inbox.yield(
        .ended(part: part, UploadEvent(result, of: part, progress, stop, engine)))
    }
  }

  /// Reads a part of the file, in steps between which it can be stopped.
  private mutating func digest(
    _ range: ByteRange, _ part: Int, _ algorithms: [Checksum.Algorithm]
  ) {
    guard stopOrder == nil else { return }
    let stop = StopSignal()
    stops[part] = stop
    helpers.append { [engine, inbox, source = sources[0]] in
      var digest = IncrementalDigest(algorithms)
      var rest = range
      do throws(TransferError) {
        while !rest.isEmpty, !stop.isStopped, !Task.isCancelled {
          let count = Int(min(rest.length, Int64(Self.digestStep)))
          let (known, start) = (digest, rest.lowerBound)
          digest = try await engine.io.run { () throws(TransferError) in
            var next = known
            try source.read(count, at: start).withUnsafeBytes { next.update($0) }
            return next
          }
          rest = (start + Int64(count))..<rest.upperBound
        }
        let isWhole = rest.isEmpty && !stop.isStopped
        inbox.yield(
          .ended(
            part: part, isWhole ? .digested(part: part, .success(digest.checksums)) : nil))
      } catch {
        inbox.yield(.ended(part: part, .digested(part: part, .failure(error))))
      }
    }
  }

  private static let digestStep = 256 << 10

  private mutating func retry(
    after delay: Duration, _ attempt: Int, _ error: TransferError
  ) async {
    guard stopOrder == nil else { return }
    let clock = engine.clock
    let due = clock.now + delay
    retryAt = due
    let id = id
    if error.retryAfter != nil { await context.pauseHost(host, until: due) }
    if error.status == nil {
      let now = clock.now
      engine.scheduler.update { $0.hostFailed(for: id, at: now, nextTrial: due) }
    }
    helpers.append { [inbox] in
      if (try? await clock.sleep(until: due)) != nil { inbox.yield(.retryDue(due)) }
    }
    engine.hub.emit(
      .attempt(number: attempt, error: error, delay: delay), of: id, context.identity)
    await context.report(.slotReleased(until: due))
  }

  private var averageRate: Double {
    let seconds = (engine.clock.now - started) / .seconds(1)
    return seconds > 0 ? Double(progress.sentInAll) / seconds : 0
  }

  private func result(
    _ state: TransferResult.State, error: TransferError? = nil
  ) -> TransferResult {
    let isWhole = state == .completed
    return TransferResult(
      state: state, bytes: isWhole ? length : acknowledged,
      fetched: progress.sentInAll, reused: reused, duration: engine.clock.now - started,
      checksums: isWhole ? [verified].compactMap(\.self) : [],
      verified: isWhole ? (verified == nil ? .length : .checksum) : nil, error: error)
  }
}

extension UploadEvent {
  /// How a request ended; nil if it was stopped.
  fileprivate init?(
    _ result: Result<SendResponse, any Error>, of part: Int, _ progress: UploadProgress,
    _ stop: StopSignal, _ engine: Engine
  ) {
    let sent = progress.sent(of: part)
    switch result {
    case .success(let response):
      self = .answered(
        UploadAnswer(
          response.head, body: response.body, sent: sent, part: part,
          wallSeconds: engine.clock.wallSeconds))
    case .failure where progress.hasStalled(part):
      self = .failed(engine.idleTimeoutError, sent: sent, part: part)
    case .failure where stop.isStopped: return nil
    case .failure(let error as TransferError):
      self = .failed(error, sent: sent, part: part)
    case .failure(let error):
      self = .failed(
        TransferError(
          .connectionLost, "the request failed (\(type(of: error)))", isRetryable: true),
        sent: sent, part: part)
    }
  }
}

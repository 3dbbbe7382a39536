import HaulCore
import HaulFiles
import NIOConcurrencyHelpers

/// One run of an upload: passes events to the machine, and performs its commands.
struct UploadRun: ~Copyable {
  private enum Message: Sendable {
    case order(RunOrder)
    /// The request has ended; nil if it was stopped.
    case ended(UploadEvent?)
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
  private let progress: UploadProgress
  private let messages: AsyncStream<Message>
  private let inbox: AsyncStream<Message>.Continuation
  /// Work to run concurrently with the loop.
  private var helpers: [@Sendable () async -> Void] = []
  /// Stops the request; nil while none is open.
  private var requestStop: StopSignal?
  /// When the next attempt is due, after a failure.
  private var retryAt: Instant?
  /// The order to stop, if there was one.
  private var stopOrder: RunOrder?
  private var end: RunEnd?

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
      recordFile?.record
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
      }
      group.cancelAll()
    }
    progress.close()
    if case .cancel? = stopOrder, let record { await request.terminate(record, engine) }
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
    case .ended(let event):
      requestStop = nil
      progress.end()
      guard let event else { return endStopped() }
      if case .failed(let error, _) = event, engine.isOffline(error) {
        end = .suspended(.offline)
        return
      }
      await noteHost(before: event)
      await handle(event)
    }
  }

  /// Stops the request. If the server has answered meanwhile, the answer counts.
  private mutating func stop(_ order: RunOrder) {
    stopOrder = order
    if let requestStop { requestStop.stop() } else { endStopped() }
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
    let mayBegin = engine.scheduler.update { scheduler in
      scheduler.pauseEnd(of: host).map { $0 <= now } ?? true && scheduler.grantConnection(for: id)
    }
    if mayBegin { return await handle(.start(record)) }
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
    case .failed: machine.hostHealth = engine.scheduler.update { $0.hostHealth(for: id) }
    case .start, .stored, .sourceChecked: break
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
    case .storeRecord(let record): await store(record)
    case .deleteRecord:
      record = nil
      engine.uploadRecords.withLockedValue { [id] in $0[id] = nil }
      // It does not fail.
      if let recordFile { try? await engine.io.run { recordFile.clear() } }
    case .reportAcknowledged(let bytes):
      if progress.sentInAll == 0 { reused = bytes }
      acknowledged = bytes
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
      end = .finished(result(.completed, verified: .length))
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
    guard stopOrder == nil else { return endStopped() }
    if progress.sentInAll == 0 {
      engine.hub.emit(.phase(.connecting, reason: nil), of: id, context.identity)
    }
    let stop = StopSignal()
    requestStop = stop
    let pieces = message.pieces ?? message.range.map { [.file(0, $0)] }
    let count = pieces?.reduce(0) { $0 + $1.length } ?? 0
    progress.begin(at: message.range?.lowerBound ?? 0, count: count, stop)
    let body = pieces.map {
      UploadBody(sources: sources, pieces: $0, context: context, progress: progress)
    }
    let outgoing = SendRequest(
      message.method, message.url, headers: message.fields, body: body, length: count,
      allowInsecure: request.allowInsecure)
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
        .ended(
          UploadEvent(
            result, sent: progress.sent, stop, engine, isStalled: progress.hasStalled)))
    }
  }

  private mutating func retry(
    after delay: Duration, _ attempt: Int, _ error: TransferError
  ) async {
    guard stopOrder == nil else { return endStopped() }
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
    _ state: TransferResult.State, verified: TransferResult.Verification? = nil,
    error: TransferError? = nil
  ) -> TransferResult {
    TransferResult(
      state: state, bytes: state == .completed ? length : acknowledged,
      fetched: progress.sentInAll, reused: reused, duration: engine.clock.now - started,
      verified: verified,
      error: error)
  }
}

extension UploadEvent {
  /// How a request ended; nil if it was stopped.
  fileprivate init?(
    _ result: Result<SendResponse, any Error>, sent: Int64, _ stop: StopSignal, _ engine: Engine,
    isStalled: Bool
  ) {
    switch result {
    case .success(let response):
      self = .answered(response.head, sent: sent, wallSeconds: engine.clock.wallSeconds)
    case .failure where isStalled: self = .failed(engine.idleTimeoutError, sent: sent)
    case .failure where stop.isStopped: return nil
    case .failure(let error as TransferError): self = .failed(error, sent: sent)
    case .failure(let error):
      self = .failed(
        TransferError(
          .connectionLost, "the request failed (\(type(of: error)))", isRetryable: true),
        sent: sent)
    }
  }
}

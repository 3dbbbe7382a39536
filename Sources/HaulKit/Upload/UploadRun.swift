import HaulCore
import HaulFiles
import NIOConcurrencyHelpers

/// One run of an upload: passes events to the machine, and performs its commands.
struct UploadRun: ~Copyable {
  enum Message: Sendable {
    case order(RunOrder)
    /// The request of a part, or the reading of it, has ended; nil if it was stopped.
    case ended(part: Int, UploadEvent?)
    /// The wait that was set to end at this instant is over.
    case retryDue(Instant)
    /// The stream cannot be read.
    case unreadable(TransferError)
    /// How the remote source can be read, or why its server does not say.
    case asked(Result<RemoteVersion.Answer, TransferError>)
  }

  let driver: UploadDriver
  var input: UploadInput
  var outcome: UploadOutcome
  /// Nil if the protocol cannot resume, or nothing is stored.
  var recordFile: UploadRecordFile?
  /// The same record in a store. Nil if the file is sent as a whole, or there is no such place.
  var storedRecord: StoredRecord?
  /// Nil if there is no file, or the protocol needs no digests of its parts.
  private let partDigests: PartDigests?
  let context: RunContext
  /// Nil until the first bytes of a stream were read, or the server of a remote source was asked.
  var machine: (any UploadMachine)?
  /// Decides when that server is asked again.
  var asking: UploadAttempts
  /// What the server of the remote source says of its bytes.
  let sourceFields = NIOLockedValueBox(HeaderFields())
  /// Why the remote source could not be read, last.
  var sourceError: TransferError?
  /// How many connections it has of the scheduler.
  var connections = 0
  /// What the next attempt needs.
  var record: UploadRecord?
  /// How many bodies have ended, of a stream.
  var bodies = 0
  /// The address of the last request.
  private var asked: ResourceURL?
  private let progress: UploadProgress
  private let messages: AsyncStream<Message>
  let inbox: AsyncStream<Message>.Continuation
  /// Work to run concurrently with the loop.
  var helpers: [@Sendable () async -> Void] = []
  /// Stops the requests, and the reading, of the parts in progress.
  var stops: [Int: StopSignal] = [:]
  /// When the next attempt is due, after a failure.
  var retryAt: Instant?
  /// The order to stop, if there was one.
  private(set) var stopOrder: RunOrder?
  var end: RunEnd?
  /// Whether the server keeps an upload that is no longer wanted. Its record stays: the next run to
  /// the same address continues it, or deletes it.
  private(set) var leavesUpload = false

  var id: TransferID { context.id }
  var engine: Engine { context.engine }
  var request: UploadRequest { driver.request }

  init(
    _ driver: UploadDriver, _ input: UploadInput, _ recordFile: UploadRecordFile?,
    _ context: RunContext
  ) {
    self.driver = driver
    self.input = input
    self.recordFile = recordFile
    self.context = context
    outcome = UploadOutcome(started: context.engine.clock.now)
    asking = UploadAttempts(
      driver.request, isAttended: context.engine.isAttended, now: outcome.started)
    partDigests =
      driver.request.method.uploadProtocol.parts == nil ? nil : PartDigests(of: input)
    if case .files(let sources) = input {
      let form = driver.form(of: sources, context.engine)
      let source = sources[0].identity
      outcome.length = form?.length ?? source.size
      machine = driver.machine(
        of: source, UploadExtent(end: source.size), changed: sources[0].changed, form,
        context.engine)
    }
    record =
      driver.startsOver
      ? nil
      : recordFile?.record
        ?? context.engine.uploadRecords.withLockedValue { [id = context.id] in $0[id] }
    progress = UploadProgress(context, length: outcome.length)
    (messages, inbox) = AsyncStream.makeStream()
  }

  /// Returns when the upload has ended or is paused: its connection is closed.
  mutating func perform() async -> RunEnd {
    context.receiveOrders { [inbox] in inbox.yield(.order($0)) }
    engine.heartbeat.add(progress)
    if recordFile?.isDamaged == true { await perform(.reportRefusal(.damagedRecord)) }
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
    if isOfNoUse, let record {
      leavesUpload = !(await request.terminate(record, engine))
    }
    return end ?? .paused
  }

  /// Whether no later run continues what the server has.
  private var isOfNoUse: Bool {
    if case .cancel? = stopOrder { return true }
    if outcome.isAdopted || outcome.present != nil { return true }
    return input.stream != nil && end?.hasFile != true
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
      if case .read(let extent) = event { return await received(extent) }
      noteSource(after: event)
      if let stream = input.stream {
        await note(stream)
      } else if let error = event.error, engine.isOffline(error) {
        end = .suspended(.offline)
        return
      } else if event.error?.cause == .refusedCredentials, engine.waitsForCredentials {
        end = .suspended(.credentialsRefused)
        return
      }
      await handle(event, hostHealth: await noteHost(before: event))
    case .unreadable(let error):
      stops[0] = nil
      finish(.failed, error: error)
    case .asked(let result):
      stops[0] = nil
      await asked(result)
    }
  }

  /// A remote source has this length.
  mutating func noteLength(_ length: Int64) {
    outcome.length = length
    progress.learn(length: length)
  }

  mutating func noteLength(_ extent: UploadExtent) {
    if let known = extent.length { noteLength(known) }
  }

  /// Stops the requests. If the server has answered meanwhile, the answer counts.
  private mutating func stop(_ order: RunOrder) {
    stopOrder = order
    for stop in stops.values { stop.stop() }
    partDigests?.stop()
  }

  private mutating func endStopped() {
    switch stopOrder {
    case .cancel: finish(.cancelled)
    default: end = .paused
    }
  }

  /// Passes an event to the machine, and performs its commands; then does the same with what these
  /// have brought about at once. No message overtakes that: an order to stop ends a run of which
  /// nothing is under way.
  mutating func handle(_ event: UploadEvent, hostHealth: HostHealth? = nil) async {
    var events = [event][...]
    while let event = events.popFirst() {
      if case .answered(let answer) = event { outcome.response = TransferResponse(answer) }
      var random = engine.random
      let now = engine.clock.now
      let commands =
        machine?.handle(event, at: now, hostHealth: hostHealth, using: &random) ?? []
      let isComplete = commands.contains(.finish(.completed))
      for command in commands {
        if isComplete, command == .deleteRecord {
          // Its file is deleted once the end is stored: after a crash before that, the next run
          // must not make a second upload.
          record = nil
        } else if let result = await perform(command) {
          events.append(result)
        }
      }
    }
  }

  /// - Returns: what follows from it at once.
  @discardableResult
  mutating func perform(_ command: UploadCommand) async -> UploadEvent? {
    switch command {
    case .send(let message): send(message)
    case .digest(let range, let part, let algorithms): digest(range, part, algorithms)
    case .storeRecord(let record): return await store(record)
    case .deleteRecord:
      record = nil
      engine.uploadRecords.withLockedValue { [id] in $0[id] = nil }
      // It does not fail.
      if let recordFile { try? await engine.io.run { recordFile.clear() } }
      await storedRecord?.remove()
    case .reportAcknowledged(let bytes):
      if progress.sentInAll == 0 { outcome.reused = bytes }
      outcome.acknowledged = bytes
      progress.acknowledge(bytes)
    case .reportVerified(let checksum): outcome.verified = checksum
    case .reportRefusal(let error):
      engine.hub.emit(.attempt(number: 1, error: error, delay: .zero), of: id, context.identity)
    case .reportAdoption(let length):
      (outcome.isAdopted, outcome.verified) = (true, nil)
      if let length { noteLength(length) }
    case .reportPresent(let file):
      outcome.present = file
      if let length = file.length { noteLength(length) }
    case .reportReply(let reply): outcome.reply = reply
    case .read(let count): read(count)
    case .connect(let count): return await connect(count)
    case .checkSource: return await checkSource()
    case .checkVersion: checkVersion()
    case .retry(let delay, let attempt, let error): await retry(after: delay, attempt, error)
    case .finish(.completed):
      if let refusals = machine?.refusals, !refusals.isEmpty, !outcome.isAdopted {
        engine.storeRefusals.withLockedValue { $0[request.url.origin, default: []] = refusals }
      }
      finish(.completed)
    case .finish(.failed(let error)): finish(.failed, error: error.naming(asked, of: request))
    }
    return nil
  }

  private mutating func store(_ record: UploadRecord) async -> UploadEvent {
    self.record = record
    do throws(TransferError) {
      try await storedRecord?.store(record)
      guard let recordFile else {
        engine.uploadRecords.withLockedValue { [id] in $0[id] = record }
        return .stored(nil)
      }
      try await engine.io.run { () throws(TransferError) in try recordFile.store(record) }
      return .stored(nil)
    } catch {
      return .stored(error)
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
    let (body, length) = input.body(of: message, number: bodies, context, progress)
    progress.begin(message, count: length, stop)
    asked = message.url
    // The time until there are keys is not that of the store.
    if request.keySource != nil { progress.beginRead(part) }
    helpers.append { [engine, inbox, progress, request, id, executor = driver.executor] in
      let task = Task(executorPreference: executor) {
        let keys = try await engine.keys(for: message, of: request)
        if request.keySource != nil { progress.begin(message, count: length, stop) }
        let held = try await (body as? UploadBody)?.heldIfShort()
        return try await engine.send(
          message, body: held ?? body, length: length, of: request, keys, in: id)
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

  /// Reads a part of the file.
  private mutating func digest(
    _ range: ByteRange, _ part: Int, _ algorithms: [Checksum.Algorithm]
  ) {
    guard stopOrder == nil else { return }
    let stop = StopSignal()
    stops[part] = stop
    helpers.append { [engine, inbox, input, partDigests] in
      do throws(TransferError) {
        var checksums = try await partDigests?.take(range, algorithms, engine)
        if checksums == nil {
          checksums = try await input.digest(
            of: range, part: part, algorithms, unless: stop, engine)
        }
        inbox.yield(.ended(part: part, checksums.map { .digested(part: part, .success($0)) }))
        // A part that cannot be read says so when it is asked for.
        try? await partDigests?.prepare(engine)
      } catch {
        inbox.yield(.ended(part: part, .digested(part: part, .failure(error))))
      }
    }
  }

  mutating func finish(_ state: TransferResult.State, error: TransferError? = nil) {
    let sent = progress.sentInAll
    let error = error?.namingSource(of: request)
    end = .finished(outcome.result(state, sent, at: engine.clock.now, error: error))
  }
}

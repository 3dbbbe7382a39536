import HaulCore
import HaulFiles
import NIOConcurrencyHelpers

/// Sources that are no files: streams, and remote resources.
extension UploadRun {
  /// Bytes of the stream are there. The machine depends on whether they are all.
  mutating func received(_ extent: UploadExtent) async {
    noteLength(extent)
    guard machine == nil else { return await handle(.read(extent)) }
    var number = UInt64.random(in: 1...UInt64.max)
    if case .stream(let own?) = request.source { number = own }
    let source = SourceIdentity(stream: number, length: extent.length)
    machine = driver.machine(
      of: source, extent, fields: sourceFields.withLockedValue { $0 }, engine)
    await handle(.start(record, connections: 1))
  }

  /// After a request: whether its body was the stream beyond what is held, and how long that was.
  mutating func note(_ stream: UploadStream) async {
    bodies += 1
    guard await stream.endBody() else { return }
    let extent = await stream.extent
    noteLength(extent)
    await handle(.streamSent(length: extent.length))
  }

  /// Reads the next bytes of the stream. Those that the server does not have stay held.
  mutating func read(_ count: Int) {
    guard stopOrder == nil, let stream = input.stream else { return }
    let stop = StopSignal()
    stops[0] = stop
    stop.whenStopped { stream.close() }
    helpers.append { [inbox, acknowledged = outcome.acknowledged] in
      await withTaskCancellationHandler {
        do throws(TransferError) {
          let extent = try await stream.fill(count, from: acknowledged)
          inbox.yield(.ended(part: 0, .read(extent)))
        } catch {
          inbox.yield(stop.isStopped ? .ended(part: 0, nil) : .unreadable(error))
        }
      } onCancel: {
        stream.close()
      }
    }
  }

  /// Asks the server of a remote source how it can be read.
  mutating func ask(_ source: DownloadRequest) {
    guard stopOrder == nil else { return }
    engine.hub.emit(.phase(.connecting, reason: nil), of: id, context.identity)
    let stop = StopSignal()
    stops[0] = stop
    helpers.append { [engine, inbox, target = request.url, executor = driver.executor] in
      do throws(TransferError) {
        let answer = try await engine.askSource(source, for: target, on: executor, unless: stop)
        inbox.yield(answer.map { .asked(.success($0)) } ?? .ended(part: 0, nil))
      } catch {
        inbox.yield(.asked(.failure(error)))
      }
    }
  }

  /// The server has said how the source can be read, or has failed.
  mutating func asked(_ result: Result<RemoteVersion.Answer, TransferError>) async {
    guard case .unknown(let source) = input else { return }
    switch result {
    case .success(let answer):
      // Only parts are read in ranges.
      if case .ranges(let version) = answer.reading, request.method.uploadProtocol.parts != nil {
        sourceFields.withLockedValue { $0 = answer.fields }
        return await begin(
          RemoteSource(source.requiring(answer.digest), version, whole: answer.whole))
      }
      outcome.coding = answer.coding
      await readStream(of: source)
    case .failure(let error) where engine.isOffline(error): end = .suspended(.offline)
    case .failure(let error):
      sourceError = error
      var random = engine.random
      asking.begin(at: engine.clock.now, using: &random)
      switch asking.failed(error) {
      case .success(let retry): await perform(retry)
      // Some firewalls break every connection that asks for a range.
      case .failure(let error) where error.code == .connectionLost: await readStream(of: source)
      case .failure(let error): finish(.failed, error: error)
      }
    }
  }

  /// Opens the record of a source whose length is known by now, if such a length has one: a list of
  /// small ones neither makes nor deletes such files.
  /// - Returns: whether the run goes on.
  private mutating func openRecord(of length: Int64) async -> Bool {
    guard recordFile == nil, request.keepsRecord(of: length) else { return true }
    do throws(TransferError) {
      recordFile = try await engine.io.run { [engine, request] () throws(TransferError) in
        try request.recordFile(engine, of: length)
      }
    } catch {
      finish(.failed, error: error)
      return false
    }
    if !driver.startsOver, let stored = recordFile?.record { record = stored }
    if recordFile?.isDamaged == true { await perform(.reportRefusal(.damagedRecord)) }
    return true
  }

  private mutating func readStream(of source: DownloadRequest) async {
    guard await openRecord(of: .max) else { return }
    input = .stream(
      RemoteStream.open(source, for: request.url, engine) { [sourceFields] head in
        sourceFields.withLockedValue { $0 = head.fieldsOfBytes }
      })
    guard request.method.uploadProtocol.asksBeforeReading else {
      return read(UploadExtent.window)
    }
    // The machine asks the server what it has, and then for the first bytes.
    let number = UInt64.random(in: 1...UInt64.max)
    machine = driver.machine(
      of: SourceIdentity(stream: number, length: nil), UploadExtent(end: 0, isWhole: false), nil,
      engine)
    await handle(.start(record, connections: 1))
  }

  private mutating func begin(_ source: RemoteSource) async {
    input = .remote(source)
    var identity = source.identity
    guard await openRecord(of: identity.size) else { return }
    if identity.isInParts, storedRecord == nil {
      do throws(TransferError) {
        storedRecord = try StoredRecord(of: request, engine)
        var isDamaged = false
        if !driver.startsOver, let stored = try await storedRecord?.read(isDamaged: &isDamaged) {
          record = stored
        }
        if isDamaged { await perform(.reportRefusal(.damagedRecord)) }
      } catch {
        return finish(.failed, error: error)
      }
    }
    if source.request.resumesFromOtherURL, let known = record?.source,
      known.isSameVersion(as: identity)
    {
      identity = known
    }
    noteLength(identity.size)
    machine = driver.machine(
      of: identity, UploadExtent(end: identity.size), fields: sourceFields.withLockedValue { $0 },
      engine)
    connections = grantConnections(beside: 1)
    await handle(.start(record, connections: connections))
  }

  /// Compares the source with what it was.
  /// - Returns: nil for a remote source, whose digests need time.
  mutating func checkSource() async -> UploadEvent? {
    if input.remote != nil {
      // Once all parts are sent.
      check { source, stop, engine throws(TransferError) in
        try await source.digest(upTo: source.version.length, unless: stop, engine)
      }
      return nil
    }
    do throws(TransferError) {
      try await input.check(engine)
      return .sourceChecked(nil)
    } catch {
      return .sourceChecked(error)
    }
  }

  /// Asks the server of the remote source for a byte of the version that this run has.
  mutating func checkVersion() {
    check { source, stop, engine throws(TransferError) in
      try await source.checkVersion(unless: stop, engine)
    }
  }

  /// Finds out whether the remote source is what it was; false if that was stopped.
  private mutating func check(
    _ isSame:
      @escaping @Sendable (RemoteSource, StopSignal, Engine) async throws(TransferError) ->
      Bool
  ) {
    guard stopOrder == nil, let source = input.remote else { return }
    let stop = StopSignal()
    stops[0] = stop
    helpers.append { [engine, inbox] in
      do throws(TransferError) {
        let isChecked = try await isSame(source, stop, engine)
        inbox.yield(.ended(part: 0, isChecked ? .sourceChecked(nil) : nil))
      } catch {
        inbox.yield(.ended(part: 0, .sourceChecked(error)))
      }
    }
  }

  /// Releases a part that the store has; notes that it has nothing, and why one could not be read.
  mutating func noteSource(after event: UploadEvent) {
    guard let source = input.remote else { return }
    switch event {
    case .answered(let answer) where (200..<300).contains(answer.head.status):
      source.release(answer.part)
    case .answered(let answer) where [404, 410].contains(answer.head.status):
      source.noteAbsentTarget()
    case .digested(_, .failure(let error)), .sourceChecked(let error?): sourceError = error
    default: break
    }
  }

  /// Before another attempt, because the source failed.
  func pauseSource(after error: TransferError, from now: Instant) {
    guard let pause = error.pause, let host = request.download?.url.origin.authority else { return }
    let end = now + min(pause, RetryAfter.longestPause)
    engine.scheduler.update { $0.pauseHost(host, until: end) }
  }
}

extension UploadEvent {
  /// Why something failed that another attempt may do.
  var error: TransferError? {
    switch self {
    case .failed(let error, _, _), .digested(_, .failure(let error)), .sourceChecked(let error?):
      error
    default: nil
    }
  }
}

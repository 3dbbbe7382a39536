import HaulCore
import HaulFiles
import NIOConcurrencyHelpers

/// Runs one upload.
struct UploadDriver: TransferDriver {
  let request: UploadRequest
  /// Whether an earlier run may have sent the file.
  let hasRun: Bool
  /// Whether it begins anew, whatever the server has.
  var startsOver = false
  /// Runs the loop and the requests; nil for the global executor.
  var executor: (any TaskExecutor)?

  func run(_ context: RunContext) async -> RunEnd {
    let engine = context.engine
    defer { request.forgetStream(engine) }
    let opened: (input: UploadInput, recordFile: UploadRecordFile?)
    do throws(TransferError) {
      opened = try await engine.io.run { [request] () throws(TransferError) in
        let input = try request.openInput(engine)
        do throws(TransferError) {
          return (input, try request.recordFile(engine, of: input.lengthAtStart))
        } catch {
          input.close()
          throw error
        }
      }
    } catch {
      return .finished(TransferResult(state: .failed, error: error))
    }
    if startsOver, let error = await deleteOld(opened.recordFile, context) {
      opened.input.close()
      opened.recordFile?.close()
      return .finished(TransferResult(state: .failed, error: error))
    }
    var run = UploadRun(self, opened.input, opened.recordFile, context)
    let end = await run.perform()
    let recordFile = run.recordFile
    // Nothing uses it any more.
    run.input.close()
    // What a stream has left cannot be continued.
    let isOver = end.isFinal && !end.hasFailed || run.input.stream != nil
    if isOver, !run.leavesUpload {
      engine.uploadRecords.withLockedValue { $0[context.id] = nil }
      if let recordFile { await context.report(.published { recordFile.remove() }) }
      await run.storedRecord?.remove()
    } else {
      recordFile?.close()
    }
    if run.leavesUpload { await context.report(.uploadLeft(request)) }
    return end
  }

  /// Deletes what earlier runs left on the server, and its record.
  private func deleteOld(
    _ recordFile: UploadRecordFile?, _ context: RunContext
  ) async -> TransferError? {
    let engine = context.engine
    let kept = engine.uploadRecords.withLockedValue { $0[context.id] }
    if let record = recordFile?.record ?? kept, !(await request.terminate(record, engine)) {
      return TransferError(
        .httpStatus, "the store does not delete the parts of the old upload",
        advice: "try again later",
        isRetryable: true)
    }
    // It does not fail.
    if let recordFile { try? await engine.io.run { recordFile.clear() } }
    engine.uploadRecords.withLockedValue { $0[context.id] = nil }
    await context.report(.startedOver)
    return nil
  }

  /// The form that is sent instead of a file; nil for none.
  func form(of sources: [UploadSource], _ engine: Engine) -> FormBody? {
    guard !request.form.isEmpty else { return nil }
    var random = engine.random
    return FormBody(request.form, lengths: sources.map(\.identity.size), using: &random)
  }

  /// The machine of its protocol.
  /// - Parameters:
  ///   - extent: what of the source can be sent.
  ///   - fields: what the server of a remote source says of its bytes.
  func machine(
    of source: SourceIdentity, _ extent: UploadExtent, changed: Double? = nil,
    _ form: FormBody? = nil, fields: HeaderFields = HeaderFields(), _ engine: Engine
  ) -> any UploadMachine {
    request.method.uploadProtocol.machine(
      UploadStart(
        request, source, extent, changed: changed, form: form, fields: fields, hasRun: hasRun,
        staysLocal: engine.proxies.keepLocal(request.url.origin),
        requiresCondition: engine.requiresConditions,
        refusals: engine.storeRefusals.withLockedValue { $0[request.url.origin] ?? [] },
        isAttended: engine.isAttended,
        now: engine.clock.now, wallSeconds: engine.clock.wallSeconds))
  }

  /// The most requests of the upload that are useful at once.
  func maximumConnections(for input: UploadInput) -> Int {
    guard let parts = request.method.uploadProtocol.parts else { return 1 }
    switch input {
    case .files(let sources): return parts(sources[0].identity)
    case .remote(let source):
      return min(source.connections, parts(source.identity))
    case .stream, .unknown: return 1
    }
  }
}

/// Deletes what earlier runs of a cancelled upload left: on the server, and the record file.
struct UploadCleanupDriver: TransferDriver {
  let request: UploadRequest

  func run(_ context: RunContext) async -> RunEnd {
    if !(await request.cleanUp(after: context.id, context.engine)) {
      await context.report(.uploadLeft(request))
    }
    request.forgetStream(context.engine)
    return .finished(TransferResult(state: .cancelled))
  }
}

extension UploadRequest {
  /// Opens its files, or none of them; or finds its stream.
  fileprivate func openInput(_ engine: Engine) throws(TransferError) -> UploadInput {
    try checkIfExists()
    switch source {
    case .file, .form: return .files(try openSources(engine))
    case .remote(var download):
      download.roots = roots  // who asks for the upload asks for its source
      return .unknown(download)
    case .stream(nil):
      throw TransferError(
        .sourceUnreadable, "it has no file", advice: "add it together with its bytes")
    case .stream(let number?):
      if let bytes = engine.uploadStreams.withLockedValue({ $0[number] }) { return .stream(bytes) }
      throw TransferError(
        .interrupted, "its bytes can be read only once", advice: "add it again with them")
    }
  }

  /// The bytes of its stream are no longer needed.
  fileprivate func forgetStream(_ engine: Engine) {
    guard case .stream(let number?) = source else { return }
    engine.uploadStreams.withLockedValue { $0[number] = nil }
  }

  private func openSources(_ engine: Engine) throws(TransferError) -> [UploadSource] {
    guard form.isEmpty || method.uploadProtocol.takesForms, !source.files.isEmpty else {
      throw TransferError(.notYetSupported, "a form has a file, and is sent with PUT or POST")
    }
    var opened: [UploadSource] = []
    let disk = engine.disk(below: roots ?? listedIn.map { [$0] })
    do throws(TransferError) {
      for path in source.files {
        opened.append(try UploadSource(path, isDirectory: isDirectory, expected: listed, on: disk))
      }
    } catch {
      for source in opened { source.close() }
      throw error
    }
    return opened
  }

  /// The record file, for a protocol that needs one.
  /// - Parameter length: nil if it is not known yet; then there is one only if an earlier run has
  ///   left it.
  func recordFile(_ engine: Engine, of length: Int64?) throws(TransferError) -> UploadRecordFile? {
    guard keepsRecord(of: length ?? .max), let directory = engine.uploadDirectory else {
      return nil
    }
    return length == nil
      ? try .existing(of: self, in: directory, on: engine.disk)
      : try UploadRecordFile(of: self, in: directory, on: engine.disk)
  }

  /// Deletes what an unfinished upload has left: on the server, and the record file.
  /// - Returns: whether nothing is left that another attempt may delete.
  func cleanUp(after id: TransferID, _ engine: Engine) async -> Bool {
    // A record file that cannot be opened belongs to another upload, or is lost.
    let recordFile = try? await engine.io.run { () throws(TransferError) in
      try self.recordFile(engine, of: nil)
    }
    let kept = engine.uploadRecords.withLockedValue { $0[id] }
    var isGone = true
    if let record = recordFile?.record ?? kept { isGone = await terminate(record, engine) }
    guard isGone else {
      recordFile?.close()
      return false
    }
    recordFile?.remove()
    engine.uploadRecords.withLockedValue { $0[id] = nil }
    return true
  }

  /// Tells the server that the upload is no longer wanted.
  /// - Returns: whether its record is of no use any more. Most servers delete the upload some day
  ///   without this too. A store keeps the parts, which cost money.
  func terminate(_ record: UploadRecord, _ engine: Engine) async -> Bool {
    let terminations = method.uploadProtocol.terminations(record, self)
    guard !terminations.isEmpty else { return true }
    let deadline = engine.clock.now + .seconds(5)
    let sending = Task(executorPreference: engine.soleExecutor) {
      var isGone = true
      for one in terminations { isGone = await isTerminated(by: one, engine) && isGone }
      return isGone
    }
    let timer = Task(executorPreference: engine.soleExecutor) {
      if (try? await engine.clock.sleep(until: deadline)) != nil { sending.cancel() }
    }
    let isGone = await sending.value
    timer.cancel()
    return isGone || !method.uploadProtocol.keepsAbandoned
  }

  /// Sends the request until the server no longer knows the upload: a part that was on its way may
  /// arrive after the first request.
  private func isTerminated(by termination: UploadMessage, _ engine: Engine) async -> Bool {
    var isGone = false
    for _ in 0..<(method.uploadProtocol.keepsAbandoned ? 3 : 1) {
      let answer: SendResponse
      do {
        let keys = try await engine.keys(for: termination, of: self)
        answer = try await engine.send(termination, of: self, keys)
      } catch {
        return isGone
      }
      if answer.head.status == 404 { return true }
      guard (200..<300).contains(answer.head.status) else { return isGone }
      isGone = true
    }
    return isGone
  }
}

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

  func run(_ context: RunContext) async -> RunEnd {
    let engine = context.engine
    let opened: (sources: [UploadSource], recordFile: UploadRecordFile?)
    do throws(TransferError) {
      opened = try await engine.io.run { [request] () throws(TransferError) in
        let sources = try request.openSources(engine)
        do throws(TransferError) {
          return (sources, try request.recordFile(engine, of: sources[0].identity.size))
        } catch {
          for source in sources { source.close() }
          throw error
        }
      }
    } catch {
      return .finished(TransferResult(state: .failed, error: error))
    }
    let (sources, recordFile) = opened
    if startsOver, let error = await deleteOld(recordFile, context) {
      for source in sources { source.close() }
      recordFile?.close()
      return .finished(TransferResult(state: .failed, error: error))
    }
    var run = UploadRun(self, sources, recordFile, context)
    let end = await run.perform()
    // Nothing uses them any more.
    for source in sources { source.close() }
    if end.isFinal, !end.hasFailed, !run.leavesUpload {
      recordFile?.remove()
      engine.uploadRecords.withLockedValue { $0[context.id] = nil }
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
        .httpStatus, "the store does not delete the parts of the old upload; try again later",
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
  func machine(
    of source: SourceIdentity, _ form: FormBody?, _ engine: Engine
  ) -> any UploadMachine {
    let now = engine.clock.now
    return switch request.method {
    case .put, .post:
      PutMachine(
        request, length: source.size, form: form, hasRun: hasRun, isAttended: engine.isAttended,
        now: now)
    case .tus:
      TusMachine(request, source: source, isAttended: engine.isAttended, now: now)
    case .s3:
      S3Machine(request, source: source, isAttended: engine.isAttended, now: now)
    case .webDAV:
      DAVMachine(request, source: source, isAttended: engine.isAttended, now: now)
    case .resumable:
      ResumableMachine(
        request, source: source, hasRun: hasRun, isAttended: engine.isAttended, now: now)
    }
  }

  /// The most requests of the upload that are useful at once.
  func maximumConnections(for source: SourceIdentity) -> Int {
    request.method == .s3 ? S3Machine.connections(for: source.size) : 1
  }
}

/// Deletes what earlier runs of a cancelled upload left: on the server, and the record file.
struct UploadCleanupDriver: TransferDriver {
  let request: UploadRequest

  func run(_ context: RunContext) async -> RunEnd {
    if !(await request.cleanUp(after: context.id, context.engine)) {
      await context.report(.uploadLeft(request))
    }
    return .finished(TransferResult(state: .cancelled))
  }
}

extension UploadRequest {
  /// Opens its files, or none of them.
  func openSources(_ engine: Engine) throws(TransferError) -> [UploadSource] {
    guard form.isEmpty || method == .put || method == .post else {
      throw TransferError(.notYetSupported, "a form is sent with PUT or POST")
    }
    var opened: [UploadSource] = []
    do throws(TransferError) {
      for path in sources {
        opened.append(try UploadSource(path, isDirectory: isDirectory, on: engine.disk))
      }
    } catch {
      for source in opened { source.close() }
      throw error
    }
    return opened
  }

  /// The record file, for a protocol that needs one.
  /// - Parameter length: of the file, in bytes, if it is known.
  func recordFile(
    _ engine: Engine, of length: Int64 = .max
  ) throws(TransferError) -> UploadRecordFile? {
    guard keepsRecord(of: length), let directory = engine.uploadDirectory else { return nil }
    return try UploadRecordFile(of: self, in: directory, on: engine.disk)
  }

  /// Deletes what an unfinished upload has left: on the server, and the record file.
  /// - Returns: whether nothing is left that another attempt may delete.
  func cleanUp(after id: TransferID, _ engine: Engine) async -> Bool {
    // A record file that cannot be opened belongs to another upload, or is lost.
    let recordFile = try? await engine.io.run { () throws(TransferError) in
      try self.recordFile(engine)
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
    let termination =
      switch method {
      case .put, .post: UploadMessage?.none
      case .tus: TusMachine.termination(of: record, self)
      case .s3: S3Machine.termination(of: record, self)
      case .webDAV: DAVMachine.termination(of: record, self)
      case .resumable: ResumableMachine.termination(of: record, self)
      }
    guard let termination else { return true }
    let deadline = engine.clock.now + .seconds(5)
    let sending = Task(executorPreference: engine.soleExecutor) {
      await isTerminated(by: termination, engine)
    }
    let timer = Task(executorPreference: engine.soleExecutor) {
      if (try? await engine.clock.sleep(until: deadline)) != nil { sending.cancel() }
    }
    let isGone = await sending.value
    timer.cancel()
    return isGone || method != .s3
  }

  /// Sends the request until the server no longer knows the upload: a part that was on its way may
  /// arrive after the first request.
  private func isTerminated(by termination: UploadMessage, _ engine: Engine) async -> Bool {
    var isGone = false
    for _ in 0..<(method == .s3 ? 3 : 1) {
      let message = SendRequest(
        termination, body: nil, allowInsecure: allowInsecure, at: engine.clock.wallSeconds)
      guard let answer = try? await engine.transport.send(message) else { return isGone }
      if answer.head.status == 404 { return true }
      guard (200..<300).contains(answer.head.status) else { return isGone }
      isGone = true
    }
    return isGone
  }
}

import HaulCore
import HaulFiles
import NIOConcurrencyHelpers

/// Runs one upload.
struct UploadDriver: TransferDriver {
  let request: UploadRequest
  /// Whether an earlier run may have sent the file.
  let hasRun: Bool

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
    var run = UploadRun(self, sources, recordFile, context)
    let end = await run.perform()
    // Nothing uses them any more.
    for source in sources { source.close() }
    if end.isFinal, !end.hasFailed {
      recordFile?.remove()
      engine.uploadRecords.withLockedValue { $0[context.id] = nil }
    } else {
      recordFile?.close()
    }
    return end
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
    case .webDAV:
      DAVMachine(request, source: source, isAttended: engine.isAttended, now: now)
    case .resumable:
      ResumableMachine(
        request, source: source, hasRun: hasRun, isAttended: engine.isAttended, now: now)
    }
  }
}

/// Deletes what earlier runs of a cancelled upload left: on the server, and the record file.
struct UploadCleanupDriver: TransferDriver {
  let request: UploadRequest

  func run(_ context: RunContext) async -> RunEnd {
    let engine = context.engine
    // A record file that cannot be opened belongs to another upload, or is lost.
    let recordFile = try? await engine.io.run { [request] () throws(TransferError) in
      try request.recordFile(engine)
    }
    let kept = engine.uploadRecords.withLockedValue { $0.removeValue(forKey: context.id) }
    if let record = recordFile?.record ?? kept { await request.terminate(record, engine) }
    recordFile?.remove()
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

  /// Tells the server that the upload is no longer wanted, with one attempt: most servers delete
  /// it some day without this too.
  func terminate(_ record: UploadRecord, _ engine: Engine) async {
    let termination =
      switch method {
      case .put, .post: UploadMessage?.none
      case .tus: TusMachine.termination(of: record, self)
      case .webDAV: DAVMachine.termination(of: record, self)
      case .resumable: ResumableMachine.termination(of: record, self)
      }
    guard let termination else { return }
    let message = SendRequest(
      termination.method, termination.url, headers: termination.fields,
      allowInsecure: allowInsecure)
    let deadline = engine.clock.now + .seconds(5)
    let sending = Task(executorPreference: engine.soleExecutor) {
      _ = try? await engine.transport.send(message)
    }
    let timer = Task(executorPreference: engine.soleExecutor) {
      if (try? await engine.clock.sleep(until: deadline)) != nil { sending.cancel() }
    }
    await sending.value
    timer.cancel()
  }
}

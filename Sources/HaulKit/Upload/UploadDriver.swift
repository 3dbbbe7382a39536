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
    let opened: (source: UploadSource, journal: UploadJournal?)
    do throws(TransferError) {
      opened = try await engine.io.run { [request] () throws(TransferError) in
        let source = try UploadSource(request.source, on: engine.disk)
        do throws(TransferError) {
          return (source, try request.journal(engine))
        } catch {
          source.close()
          throw error
        }
      }
    } catch {
      return .finished(TransferResult(state: .failed, error: error))
    }
    let (source, journal) = opened
    var run = UploadRun(self, source, journal, context)
    let end = await run.perform()
    // Nothing uses them any more.
    source.close()
    if end.isOver, !end.hasFailed {
      journal?.remove()
      engine.uploads.withLockedValue { $0[context.id] = nil }
    } else {
      journal?.close()
    }
    return end
  }

  /// The machine of its protocol.
  func machine(of source: SourceIdentity, _ engine: Engine) -> any UploadMachine {
    let now = engine.clock.now
    return switch request.method {
    case .put, .post:
      PutMachine(
        request, length: source.size, hasRun: hasRun, isAttended: engine.isAttended, now: now)
    case .tus:
      TusMachine(request, source: source, isAttended: engine.isAttended, now: now)
    }
  }
}

/// Deletes what earlier runs of a cancelled upload left: on the server, and the journal.
struct UploadCleanupDriver: TransferDriver {
  let request: UploadRequest

  func run(_ context: RunContext) async -> RunEnd {
    let engine = context.engine
    // A journal that cannot be opened belongs to another upload, or is lost.
    let journal = try? await engine.io.run { [request] () throws(TransferError) in
      try request.journal(engine)
    }
    let kept = engine.uploads.withLockedValue { $0.removeValue(forKey: context.id) }
    if let record = journal?.record ?? kept { await request.abandon(record, engine) }
    journal?.remove()
    return .finished(TransferResult(state: .cancelled))
  }
}

extension UploadRequest {
  /// The journal, for a protocol that resumes.
  func journal(_ engine: Engine) throws(TransferError) -> UploadJournal? {
    guard resumes, let directory = engine.uploadDirectory else { return nil }
    return try UploadJournal(of: self, in: directory, on: engine.disk)
  }

  /// Tells the server that the upload is no longer wanted. It deletes it some day without this
  /// too, so one attempt is enough.
  func abandon(_ record: UploadRecord, _ engine: Engine) async {
    guard let termination = TusMachine.termination(of: record, self) else { return }
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

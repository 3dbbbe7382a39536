import HaulCore
import HaulFiles

/// Progress, checkpoints, and the ways a run ends.
extension DownloadRun {
  mutating func tick(_ group: inout TaskGroup<Void>) async {
    let now = engine.clock.now
    let (received, total, connections) = plan.update {
      ($0.plan.receivedCount, $0.plan.length, $0.plan.segments.count)
    }
    meter.note(received, at: now)
    ticks += 1
    let progress = Progress(
      bytes: received, total: total, rate: meter.rate, connections: connections)
    engine.hub.publish(progress: progress, of: driver.id, request.url)
    if checkpoints.begins(dirtyBytes: part.dirtyBytes, at: now) { checkpoint(&group) }
    if ticks.isMultiple(of: 10) { await handle(.tick, &group) }
  }

  private func checkpoint(_ group: inout TaskGroup<Void>) {
    let (post, part, io) = (post, part, engine.io)
    group.addTask {
      do throws(TransferError) {
        try await io.run { () throws(TransferError) in try part.checkpoint() }
        post.yield(.checkpointed(nil))
      } catch {
        post.yield(.checkpointed(error))
      }
    }
  }

  mutating func begin(_ version: DownloadMachine.Version) async {
    reused = 0
    let (part, head) = (part, journalHead(version))
    do {
      try await engine.io.run { () throws(TransferError) in try part.begin(head) }
    } catch {
      post.yield(.event(.diskFailed(error)))
    }
  }

  func verify(_ checksum: Checksum, _ group: inout TaskGroup<Void>) {
    let (post, part, io, stop) = (post, part, engine.io, verifyStop)
    group.addTask {
      let error = await Self.verificationError(of: part, checksum, io, stop)
      post.yield(.event(.verified(error)))
    }
  }

  private static func verificationError(
    of part: PartFile, _ checksum: Checksum, _ io: BlockingIO, _ stop: StopSignal
  ) async -> TransferError? {
    do {
      try await io.run { () throws(TransferError) in
        let found = try part.digest(checksum.algorithm) { stop.isStopped }
        guard found != checksum else { return }
        try part.reject(checksum)
        throw TransferError(
          .checksumMismatch,
          "the file is not the one asked for: expected \(checksum), got \(found.hex); its bytes are kept apart"
        )
      }
      return nil
    } catch {
      return error
    }
  }

  func publish(_ version: DownloadMachine.Version, _ group: inout TaskGroup<Void>) {
    let (post, claim, engine, id) = (post, claim, engine, driver.id)
    let length = version.length ?? plan.update { $0.plan.receivedCount }
    let modified = version.validator.lastModified.flatMap {
      HTTPDate($0, now: engine.clock.wallSeconds)
    }
    group.addTask {
      await engine.hooks.willPublish(id)
      do throws(TransferError) {
        let name = try await engine.io.run { () throws(TransferError) in
          try claim.publish(length: length, modified: modified.map { Double($0.secondsSince1970) })
        }
        post.yield(.publishedAs(name))
      } catch {
        post.yield(.event(.published(error)))
      }
    }
  }

  mutating func finish(_ machineEnd: DownloadMachine.End) async {
    switch machineEnd {
    case .completed(let verified):
      let bytes = plan.update { $0.plan.receivedCount }
      await letGo()
      end = .finished(result(.completed, path: claim.path, bytes: bytes, verified: verified))
    case .alreadyThere:
      reused = claim.existing?.size ?? 0
      let path = claim.existingPath
      await letGo()
      end = .finished(result(.completed, path: path, bytes: reused, verified: .length))
    case .paused where isCancelled:
      await discard()
      end = .finished(result(.cancelled))
    case .paused:
      let error = await keep()
      end = error.map { .finished(result(.failed, error: $0)) } ?? .paused
    case .failed(let error):
      // The first reason is the one to tell; a checkpoint that fails now leaves the last good one.
      _ = await keep()
      let bytes = plan.update { $0.plan.receivedCount }
      end = .finished(result(.failed, bytes: bytes, error: error))
    }
  }

  func result(
    _ state: TransferResult.State, path: String? = nil, bytes: Int64 = 0,
    verified: TransferResult.Verification? = nil, error: TransferError? = nil
  ) -> TransferResult {
    TransferResult(
      state: state, path: path, bytes: bytes, fetched: plan.update { $0.fetched }, reused: reused,
      duration: engine.clock.now - started,
      checksum: verified == .checksum ? machine.checksum : nil, verified: verified, error: error)
  }

  /// Makes what is there durable, as far as that was asked for, and lets the file go.
  private func keep() async -> TransferError? {
    var failure: TransferError?
    do {
      try await engine.io.run { [part] () throws(TransferError) in try part.checkpoint() }
    } catch {
      failure = error
    }
    await letGo()
    return failure
  }

  func letGo() async {
    let part = part
    // Letting go cannot fail: there is nothing left to lose.
    try? await engine.io.run { () throws(TransferError) in part.release() }
  }

  private func discard() async {
    let part = part
    // What cannot be removed now stays a part file, which a later run adopts.
    try? await engine.io.run { () throws(TransferError) in
      try part.discard()
    }
  }
}

extension TargetClaim {
  /// Gives the part its final name, or the next free one where a number may be added.
  /// - Throws: as `PartFile.publish`.
  func publish(length: Int64, modified: Double?) throws(TransferError) -> FileName {
    var candidate = name
    while true {
      do {
        try part.publish(
          as: candidate.text, length: length, modified: modified, replacing: isReplacing)
        return candidate
      } catch  where error.code == .nameConflict && mayBeNumbered {
        candidate = try nextFreeName()
      }
    }
  }

  /// Where the file lies that was there before.
  var existingPath: String { directory.filePath(wanted.text) }
}

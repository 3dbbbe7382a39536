import HaulCore

/// Progress, checkpoints, and the end of a run.
extension DownloadRun {
  mutating func tick() async {
    let now = engine.clock.now
    stopTimedOut(at: now)
    let (received, total, connections) = plan.update {
      ($0.plan.receivedCount, $0.plan.length, $0.plan.segments.count)
    }
    meter.note(received, at: now)
    ticks += 1
    // The last progress reports the average rate.
    let rate = received == total ? averageRate : meter.rate
    emit(
      progress: TransferProgress(
        bytes: received, total: total, rate: rate, connections: connections))
    if let target {
      if checkpoints.begins(dirtyBytes: target.dirtyBytes, at: now) { checkpoint(target) }
      if !isReadingBack, target.digestLag >= Self.readBackThreshold { readBack(target) }
    }
    // The limits may have changed.
    surroundings.isRateLimited = isRateLimited
    surroundings.heldBack = heldBack
    await handle(ticks.isMultiple(of: 10) ? .tick : .measured)
  }

  private func emit(progress: TransferProgress) {
    engine.hub.emit(progress: progress, of: id, context.identity)
  }

  /// Segments whose bytes wait for the rate limit: their connections do not wait for the network.
  private var heldBack: Set<SegmentID> {
    guard isRateLimited else { return [] }
    return Set(connections.lazy.filter { $0.isActive && $0.idleSince.start == nil }.map(\.id))
  }

  /// Bytes per second from the network since the run began.
  private var averageRate: Double {
    let seconds = (engine.clock.now - started) / .seconds(1)
    return seconds > 0 ? Double(plan.update { $0.fetched }) / seconds : 0
  }

  private mutating func checkpoint(_ target: any DownloadTarget) {
    helpers.append { [inbox] in
      do throws(TransferError) {
        try await target.checkpoint(isLast: false)
        inbox.post(.checkpointed(nil))
      } catch {
        inbox.post(.checkpointed(error))
      }
    }
  }

  private static let readBackThreshold: Int64 = 4 << 20
  /// The most bytes to read back at once without checking for a stop.
  private static let readBackAtOnce: Int64 = 64 << 20

  /// Hashes bytes that came out of order while the rest is received.
  private mutating func readBack(_ target: any DownloadTarget) {
    isReadingBack = true
    helpers.append { [inbox, stop = verifyStop] in
      // A read error is retried, and reported, when the file is verified.
      try? await target.advanceDigest(by: Self.readBackAtOnce) { stop.isStopped }
      inbox.post(.digestAdvanced)
    }
  }

  mutating func begin(_ version: DownloadMachine.Version) async {
    reused = 0
    do {
      try await target?.begin(version, checksums: machine.checksums(of: version))
    } catch {
      inbox.post(.event(.diskFailed(error)))
    }
  }

  func noteMixedVersions() async {
    do {
      try await target?.noteMixedVersions()
    } catch {
      inbox.post(.event(.diskFailed(error)))
    }
  }

  mutating func verify(_ checksums: [Checksum], orPage page: MisplacedPage?) {
    guard let target else { return }
    helpers.append { [inbox, stop = verifyStop] in
      do throws(TransferError) {
        if let page,
          let error = page.error(
            try await target.firstBytes(MisplacedPage.examinedBytes))
        {
          throw error
        }
        if !checksums.isEmpty { try await target.verify(checksums) { stop.isStopped } }
        inbox.post(.event(.verified(nil)))
      } catch {
        inbox.post(.event(.verified(error)))
      }
    }
  }

  mutating func publish(_ version: DownloadMachine.Version) async {
    guard let target else { return }
    let length = version.length ?? plan.update { $0.plan.receivedCount }
    let modified = version.validator.lastModified.flatMap {
      HTTPDate($0, now: engine.clock.wallSeconds)
    }
    let seconds = modified.map { Double($0.secondsSince1970) }
    guard let willPublish = engine.hooks.willPublish else {
      if driver.executor != nil, publishInPlace(target, length, seconds) { return }
      target.publish(length: length, modified: seconds) { [inbox] in inbox.post(.published($0)) }
      return await waitForDiskWithoutSlot()
    }
    helpers.append { [inbox, id] in
      await willPublish(id)
      target.publish(length: length, modified: seconds) { inbox.post(.published($0)) }
    }
  }

  private func publishInPlace(
    _ target: any DownloadTarget, _ length: Int64, _ modified: Double?
  ) -> Bool {
    do throws(TransferError) {
      guard let path = try target.publishInPlace(length: length, modified: modified) else {
        return false
      }
      inbox.post(.published(.success(path)))
    } catch {
      inbox.post(.published(.failure(error)))
    }
    return true
  }

  /// Releases its connection to another transfer, unless too many transfers wait for the disk.
  private func waitForDiskWithoutSlot() async {
    guard engine.scheduler.update({ $0.yieldSlotForDisk(id) }) else { return }
    await context.report(.slotsChanged)
  }

  mutating func finish(_ machineEnd: DownloadMachine.End) async {
    switch machineEnd {
    case .completed(let verified):
      let bytes = plan.update { $0.plan.receivedCount }
      let whole = result(.completed, path: path, bytes: bytes, verified: verified)
      end = .finished(whole.noting(kept: kept))
    case .alreadyExists(let file):
      reused = file.size
      await target?.release()
      let found = result(.completed, path: file.path, bytes: reused, verified: .length)
      end = .finished(found.notingUnchanged())
    case .paused where isCancelled:
      if mayDiscard { await target?.discard() } else { await target?.release() }
      end = .finished(result(.cancelled))
    case .paused:
      // Its bytes may have come after the last tick.
      let (received, total) = plan.update { ($0.plan.receivedCount, $0.plan.length) }
      if received > 0 {
        emit(progress: TransferProgress(bytes: received, total: total, rate: 0, connections: 0))
      }
      let error = await keep()
      end = error.map { .finished(result(.failed, error: $0)) } ?? .paused
    case .failed(let error) where error.code == .webPage:
      await target?.discard()
      end = .finished(result(.failed, error: error))
    case .failed(let error):
      // The first error is reported. If this checkpoint fails, the last good one still counts.
      _ = await keep()
      let bytes = error.cause == .lostBytes ? 0 : plan.update { $0.plan.receivedCount }
      end = .finished(result(.failed, bytes: bytes, error: error))
    }
  }

  func result(
    _ state: TransferResult.State, path: String? = nil, bytes: Int64 = 0,
    verified: TransferResult.Verification? = nil, error: TransferError? = nil
  ) -> TransferResult {
    let (fetched, repeated) = plan.update { ($0.fetched, $0.repeated) }
    var result = TransferResult(
      state: state, path: path, bytes: bytes, fetched: fetched, reused: max(0, reused - repeated),
      duration: engine.clock.now - started,
      checksums: verified == .checksum ? machine.checksums : [], verified: verified,
      coding: state == .completed ? machine.version?.coding : nil, error: error,
      metrics: metrics,
      response: lastHead.map { TransferResponse($0) })
    if let sender = machine.sender { result = result.noting(sender: sender) }
    return lastHead?.cacheUse.map { result.noting($0) } ?? result
  }

  private var metrics: TransferMetrics? {
    guard requests > 0 else { return nil }
    return TransferMetrics(
      timeToFirstResponse: firstResponseAt.map { $0 - started }, requests: requests,
      retries: retries)
  }

  /// Syncs the bytes on disk as the durability requires, and releases the file.
  private func keep() async -> TransferError? {
    var failure: TransferError?
    do {
      try await target?.checkpoint(isLast: true)
    } catch {
      failure = error
    }
    await target?.release()
    return failure
  }
}

import HaulCore
import HaulFiles

/// Takes and releases the target of a run.
extension DownloadRun {
  /// Takes the target as soon as its name is known, and returns what is there. Sets `end` when
  /// nothing is left to do.
  /// - Parameter serverName: the name that the first answer sent.
  mutating func bind(_ serverName: FileName? = nil) async -> DownloadMachine.Found {
    if let stream = driver.stream {
      target = StreamTarget(buffer: stream, plan: plan)
      stream.attach(plan) { [inbox] in inbox.post(.event(.windowMoved)) }
      return .init()
    }
    let name = serverName ?? driver.serverName
    do {
      switch try await claimTarget(name) {
      case .alreadyExists(let path, let size, let checksums):
        end = .finished(
          TransferResult(
            state: .completed, path: path, bytes: size, reused: size,
            duration: engine.clock.now - started, checksums: checksums,
            verified: checksums.isEmpty ? nil : .checksum
          ).notingUnchanged())
      case .claimed(let claim): return await take(claim, isNamedByServer: name != nil)
      }
    } catch {
      end = .finished(result(.failed, error: error))
    }
    return .init()
  }

  private mutating func take(
    _ claim: TargetClaim, isNamedByServer: Bool
  ) async -> DownloadMachine.Found {
    self.claim = claim
    location = FileLocation(
      directory: claim.directory.path, device: claim.key.device, boot: engine.disk.bootID,
      name: claim.name.text, partName: claim.part.partName)
    if claim.number > 0 || isNamedByServer {
      emit(.target(claim.path, reason: await reasonForNumber(by: claim)))
    }
    kept = await keptName(by: claim)
    if let reason = await refusal(of: claim) {
      end = .suspended(reason)
      return .init()
    }
    if driver.isStored { claim.part.keepJournal() }
    if let old = driver.previous.location { await removeUnlessContinued(old) }
    await engine.hooks.recovered(id)
    let target = FileTarget(
      claim: claim, url: request.url, isOfClient: request.isOfClient, io: engine.io,
      groupPublisher: engine.groupPublisher, clock: engine.clock)
    self.target = target
    if target.recovery.published {
      await alreadyPublished(target)
      return .init()
    }
    return DownloadMachine.Found(
      await recover(target), fileName: claim.wanted.text, existing: claim.existing,
      needsExisting: claim.needsExisting,
      needsConfirmation: claim.replacement != .none && claim.existing.isEmpty
        && request.checksums.isEmpty)
  }

  /// Removes the part file of an earlier run if this one has another name: nothing continues it.
  private func removeUnlessContinued(_ old: FileLocation) async {
    guard let location, (old.directory, old.name) != (location.directory, location.name) else {
      return
    }
    // A part file that cannot be removed now is left.
    try? await engine.io.run {
      [request, disk = engine.disk(of: request)] () throws(TransferError) in
      try old.discard(request.url, on: disk)
    }
  }

  /// Takes the name from an answer, and lets the machine decide about its body.
  mutating func bind(toAnswerOf id: SegmentID) async {
    let name = response(id).flatMap { FileName($0.head.headers) }
    if let name { await context.report(.named(name)) }
    let found = await bind(name)
    guard end == nil else { return }
    await handle(.bound(found))
    expectDigests()
  }

  /// Starts digests that include the bytes of an earlier run.
  func expectDigests() {
    if reused > 0 { target?.expectDigests(machine.checksums.map(\.algorithm)) }
  }

  /// Ends the run: an earlier one published the file, and crashed before it deleted the journal.
  private mutating func alreadyPublished(_ target: FileTarget) async {
    let recovery = target.recovery
    reused = recovery.publishedLength ?? 0
    await target.release()
    let path = recovery.publishedName.map(target.claim.directory.filePath)
    let found = result(.completed, path: path, bytes: reused, verified: .length)
    end = request.startOver ? .alreadyPublished(found) : .finished(found)
  }

  /// Why a number is added to the name, if an existing file or part file is the cause; otherwise
  /// nil.
  private func reasonForNumber(by claim: TargetClaim) async -> String? {
    guard claim.number > 0, claim.replacement == .none, request.ifExists == .update else {
      return nil
    }
    // If the file cannot be checked, no reason is given.
    let former = try? await engine.io.run { () throws(TransferError) in
      let wanted = claim.wanted.text
      let part = try PartNames(wanted).part
      return (
        wanted: try TargetCheck.state(of: wanted, in: claim.directory),
        part: try TargetCheck.state(of: part, in: claim.directory)
      )
    }
    guard let former else { return nil }
    if former.wanted != .absent {
      return "\(claim.wanted.text) exists and is not an unchanged download from this address"
    }
    let key = TargetReservations.Key(
      device: claim.key.device, inode: claim.key.inode, name: claim.wanted.text)
    // That of a download of this manager is the other one of two with the same name.
    guard former.part != .absent, engine.targets.reservedURL(of: key) == nil else { return nil }
    return "another address has an unfinished download of the name \(claim.wanted.text)"
  }

  /// The name that was asked for, if a file has it that is no unchanged download; otherwise nil.
  private func keptName(by claim: TargetClaim) async -> String? {
    guard claim.number > 0, request.ifExists == .update else { return nil }
    let (wanted, user) = (claim.wanted.text, engine.disk.effectiveUser)
    // If the file cannot be checked, nothing is said of it.
    let isKept = try? await engine.io.run { () throws(TransferError) in
      try TargetCheck.state(of: wanted, in: claim.directory) != .absent
        && FileRecord.read(wanted, in: claim.directory, user: user) == nil
    }
    return isKept == true ? wanted : nil
  }

  /// Finds the name and the part file. Most files are new, so the directory is first checked on the
  /// present thread: that is faster than a thread switch.
  private func claimTarget(
    _ serverName: FileName?
  ) async throws(TransferError) -> TargetClaim.Outcome {
    // The driver is captured, not its large request.
    let (driver, engine, id) = (driver, engine, id)
    if driver.executor != nil, driver.previous.path == nil, driver.previous.location == nil {
      let new = try await engine.io.inPlace.run { () throws(TransferError) in
        try TargetSearch(for: driver.request, of: id, serverName: serverName, in: engine)
          .claimNew()
      }
      if let new { return .claimed(new) }
    }
    return try await engine.io.run { () throws(TransferError) in
      try TargetSearch.find(
        for: driver.request, of: id, serverName: serverName, previous: driver.previous, in: engine)
    }
  }

  /// Releases the target now, or after the end of the transfer is stored.
  mutating func releaseTarget(_ end: RunEnd) async {
    guard let claim else { return }
    guard end.isFinal else { return engine.targets.keep(claim.key) }
    guard driver.isStored, end.hasFile else { return engine.targets.release(claim.key) }
    let (part, key, targets) = (claim.part, claim.key, engine.targets)
    await context.report(
      .published {
        part.removeJournal()
        targets.release(key)
      })
  }
}

extension RunEnd {
  /// The end that the reader of the stream gets, after the last byte.
  var outcome: Result<Void, TransferError> {
    switch self {
    case .paused, .suspended, .alreadyPublished:
      .failure(TransferError(.interrupted, "it was stopped", advice: "a stream cannot resume"))
    case .finished(let result):
      switch result.state {
      case .completed: .success(())
      case .cancelled: .failure(TransferError(.cancelled, "cancelled"))
      case .failed:
        .failure(result.error ?? TransferError(.internal, "the transfer failed without an error"))
      }
    }
  }
}

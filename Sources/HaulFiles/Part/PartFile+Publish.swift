package import HaulCore
import HaulLibC
import NIOConcurrencyHelpers

extension PartFile {
  /// Publishes the whole file under its final name, in one step.
  /// - Parameters:
  ///   - length: the length of the whole file; the caller has verified the content.
  ///   - modified: modification time in seconds since 1970; nil leaves it unchanged.
  ///   - replacing: whether an existing file of that name is replaced.
  /// - Throws: `name-conflict` if the name is taken: nothing is lost, and it can be published under
  ///   another; `length-mismatch` if bytes are missing; `in-use`, `io`.
  package func publish(
    as name: String, length: Int64, modified: Double?, replacing: Bool
  ) throws(TransferError) {
    let entry = PendingPublication(
      of: self, name, length: length, modified: modified, replacing: replacing)
    for result in Self.publish([entry]) { try result.get() }
  }

  package typealias ForEach = (_ count: Int, _ body: @escaping @Sendable (Int) -> Void) -> Void

  /// Publishes whole files under their final names, each in one step. If strict, they are durable
  /// when this returns. Files of one directory share its sync.
  /// - Parameter forEach: calls a body with each number below a count, perhaps on several threads,
  ///   so that several part files are synced at the same time; nil for one after the other.
  /// - Returns: for each file what `publish` of one file would throw. A failure does not affect
  ///   other files.
  package static func publish(
    _ group: [PendingPublication], forEach: ForEach? = nil
  ) -> [Result<Void, TransferError>] {
    if group.count > 1 {
      for entry in group { entry.part.startWriteback(entry.length) }
    }
    var results = publishWithoutDirectorySync(group, forEach)
    syncDirectories(of: group, &results)
    for (entry, result) in zip(group, results) {
      if case .success = result { entry.part.endPublication() }
    }
    return results
  }

  private static func publishWithoutDirectorySync(
    _ group: [PendingPublication], _ forEach: ForEach?
  ) -> [Result<Void, TransferError>] {
    @Sendable func name(_ entry: PendingPublication) -> Result<Void, TransferError> {
      Result { () throws(TransferError) in try entry.part.publishOne(entry) }
    }
    guard let forEach, group.count > 1 else { return group.map(name) }
    let missing = TransferError(.internal, "the file was not published")
    let results = NIOLockedValueBox(
      [Result<Void, TransferError>](repeating: .failure(missing), count: group.count))
    forEach(group.count) { number in
      let result = name(group[number])
      results.withLockedValue { $0[number] = result }
    }
    return results.withLockedValue { $0 }
  }

  /// Then the disk writes several files at the same time, during the first sync.
  private func startWriteback(_ length: Int64) {
    guard durability == .strict, length > 0 else { return }
    state.withLockedValue { $0.part }?.startWriteback(0..<length)
  }

  /// Publishes without syncing the directory.
  private func publishOne(_ entry: PendingPublication) throws(TransferError) {
    let (name, length) = (entry.name, entry.length)
    try serialized { namesAreDurable throws(TransferError) in
      let (part, identity) = try prepare(length)
      let replaced = entry.replacing ? name : nil
      let rights = try rights(replacing: replaced)
      let setsModeLast = rights.areForOthers
      let isOwnershipProofOnly = try writeOwnershipJournal(setsModeLast: setsModeLast)
      if setsModeLast {
        try locked { state throws(TransferError) in try writeDeferredJournal(&state) }
      }
      try verifyStillOurs()
      try verifyDirectory()
      if !entry.replacing { try refuseTaken(name) }
      let status = try finish(
        part, length: length, modified: entry.modified, rights: setsModeLast ? nil : rights,
        replacing: replaced)
      writeFileRecord(on: part, status)
      if durability == .strict {
        let (count, isDeferred) = state.withLockedValue { ($0.claimCount, $0.isDeferred) }
        if isDeferred || isOwnershipProofOnly {
          try syncPart(part)
        } else {
          try makeDurable(part, count, whole: true, &namesAreDurable)
        }
      }
      try flush(part, length)
      let publication = Publication(length: length, part: identity, name: name)
      try locked { state throws(TransferError) in try state.append(.publishing(publication)) }
      if durability == .strict, !isOwnershipProofOnly { try syncJournal() }
      if setsModeLast { try setLate(rights, on: part, replacing: replaced) }
      try renameToFinalName(publication, replacing: entry.replacing)
      state.withLockedValue { $0.isPublished = true }
    }
  }

  /// Refuses to publish in a directory that was renamed: the result would name the old path.
  private func verifyDirectory() throws(TransferError) {
    let isAtPath = try mapping("check the directory", directory.isAtPath())
    guard !isAtPath else { return }
    throw TransferError(
      .io,
      "\(directory.path) was renamed or replaced during the download",
      advice: "\(names.part) is still in it")
  }

  /// Writes a deferred journal only to show, if the process dies, that the file is complete. This
  /// needs no sync.
  /// - Returns: whether the journal exists only for that.
  private func writeOwnershipJournal(setsModeLast: Bool) throws(TransferError) -> Bool {
    try locked { state throws(TransferError) in
      guard state.keepsJournal, state.isDeferred else { return false }
      try writeDeferredJournal(&state)
      return !setsModeLast
    }
  }

  private func prepare(_ length: Int64) throws(TransferError) -> (any DiskFile, FileIdentity) {
    try locked { state throws(TransferError) in
      let part = try state.openPart()
      try state.claimIdle()
      guard let identity = state.partIdentity, state.claimed.covers(0..<length),
        state.claimed.ranges.last.map({ $0.upperBound <= length }) ?? true, state.open.isEmpty
      else {
        throw TransferError(.lengthMismatch, "the file is not complete and cannot be published")
      }
      state.hasBegunToPublish = true
      return (part, identity)
    }
  }

  private func refuseTaken(_ name: String) throws(TransferError) {
    let status = try mapping("check the target", directory.status(of: name))
    if status != nil { throw Self.taken }
  }

  private func finish(
    _ part: any DiskFile, length: Int64, modified: Double?, rights: Rights?,
    replacing name: String?
  ) throws(TransferError) -> FileStatus {
    let status = try mapping("finish the part file") { () throws(DiskError) in
      if let rights { try set(rights, on: part, replacing: name) }
      if let modified { try part.setModifiedIfPossible(modified) }
      return try part.status()
    }
    // All bytes were written, so another program has cut the file; missing bytes would be zeros.
    guard status.size >= length else {
      throw state.withLockedValue { $0.distrust(.resizedError) }
    }
    if status.size == length { return status }
    return try mapping("finish the part file") { () throws(DiskError) in
      try part.truncate(to: length)
      if let modified { try part.setModifiedIfPossible(modified) }  // truncating has changed it
      return try part.status()
    }
  }

  /// Finds failures that some file systems report only at close (close(2)), and a part file that
  /// has another size by now. Then no byte counts, whatever a sync has said.
  private func flush(_ part: any DiskFile, _ length: Int64) throws(TransferError) {
    let size: Int64
    do throws(DiskError) {
      try part.flush()
      size = try part.status().size
    } catch {
      let failure = TransferError(error, while: "store the part file")
      guard error.call == "close" else { throw failure }
      throw state.withLockedValue { $0.distrust(failure) }
    }
    guard size == length else { throw state.withLockedValue { $0.distrust(.resizedError) } }
  }

  /// Stores the file's record, so that a later run knows that Haul made it.
  private func writeFileRecord(on part: any DiskFile, _ status: FileStatus) {
    let (known, url) = state.withLockedValue { ($0.head, $0.url) }
    guard let head = known else { return }
    let record = FileRecord(of: head, url: url, size: status.size, modified: status.modified)
    // Without the record, the file is still correct: a later run treats it as another program's,
    // and leaves it unchanged.
    try? part.setAttribute(record.bytes)
  }

  /// The mode of a new file.
  private struct Rights {
    /// If it can have the owner, the group and the access control list of the file that it
    /// replaces, or replaces none.
    var mode: UInt32
    /// If not: then no user gets more access.
    var restrictedMode: UInt32
    /// A part file that another user or a group can write is Haul's only if the journal says
    /// `publishing`, or if the file that it replaces is like it. So these are set after the record.
    var areForOthers: Bool
  }

  private func rights(replacing name: String?) throws(TransferError) -> Rights {
    let finalMode = try mapping("check the directory", directory.newFileMode(creationMask))
    let new = Rights(
      mode: finalMode, restrictedMode: finalMode, areForOthers: finalMode & 0o022 != 0)
    guard let name else { return new }
    let former = try mapping("check the target", directory.status(of: name))
    guard let former, former.kind == .regular else { return new }
    let both = former.mode & (finalMode | 0o111)
    // Another group counts among all others, and the former one too.
    let others = (both >> 3) & both & 0o005
    return Rights(
      mode: former.mode & 0o777, restrictedMode: both & 0o700 | others << 3 | others,
      areForOthers: former.mode & 0o022 != 0 || former.owner != user)
  }

  private func setLate(
    _ rights: Rights, on part: any DiskFile, replacing name: String?
  ) throws(TransferError) {
    try mapping("finish the part file", set(rights, on: part, replacing: name))
    if durability == .strict { try syncPart(part) }
  }

  private func set(
    _ rights: Rights, on part: any DiskFile, replacing name: String?
  ) throws(DiskError) {
    let hasAccess = try name.map { (name) throws(DiskError) in try takesAccess(of: name, part) }
    try part.setModeIfPossible(hasAccess == false ? rights.restrictedMode : rights.mode)
  }

  private func takesAccess(of name: String, _ part: any DiskFile) throws(DiskError) -> Bool {
    guard let former = try directory.status(of: name) else { return true }
    // Another user may have put it there, with access for himself.
    guard try !directory.mayBePlanted(former, user) else { return false }
    do throws(DiskError) {
      let former = try directory.open(name, writing: false)
      defer { former.close() }
      try part.takeAccess(of: former)
      return true
    } catch {
      return false
    }
  }

  private static let taken = TransferError(
    .nameConflict,
    "a file of that name has appeared", advice: "the received bytes are kept, choose another name")

  /// Renames without replacing; links if that is unsupported; uses a placeholder if links are too.
  private func renameToFinalName(_ publication: Publication, replacing: Bool) throws(TransferError)
  {
    do throws(DiskError) {
      return try directory.rename(names.part, to: publication.name, replacing: replacing)
    } catch {
      guard !replacing, [ENOSYS, EINVAL, EOPNOTSUPP].contains(error.errno) else {
        throw naming(error)
      }
    }
    try writeJournalBeforeLinking()
    do throws(DiskError) {
      try directory.link(names.part, to: publication.name)
    } catch {
      guard [EPERM, ENOSYS, EOPNOTSUPP, EMLINK].contains(error.errno) else {
        throw naming(error)
      }
      return try renameOverPlaceholder(publication)
    }
    try removeOldName(publication.part)
  }

  private func naming(_ error: DiskError) -> TransferError {
    switch error.errno {
    case EEXIST: Self.taken
    case ENOENT: removed("part file")
    default: TransferError(error, while: "publish the file")
    }
  }

  /// The new name is durable before the old one is removed, so that one of them always exists.
  private func removeOldName(_ identity: FileIdentity) throws(TransferError) {
    try mapping("remove the name of the part file") { () throws(DiskError) in
      if durability == .strict { try directory.syncIfPossible() }
      try directory.unlink(names.part, ifStill: identity)
    }
  }

  private func renameOverPlaceholder(_ publication: Publication) throws(TransferError) {
    let identity = try makePlaceholder(publication.name)
    do throws(TransferError) {
      try locked { state throws(TransferError) in try state.append(.placeholder(identity)) }
      let isOurs = try mapping("check the target", directory.has(identity, as: publication.name))
      guard isOurs else { throw Self.taken }
      try mapping(
        "publish the file", directory.rename(names.part, to: publication.name, replacing: true))
    } catch {
      // Haul's empty file must not keep the final name. Only the first failure is reported.
      try? directory.unlink(publication.name, ifStill: identity)
      throw error
    }
  }

  private func makePlaceholder(_ name: String) throws(TransferError) -> FileIdentity {
    do throws(DiskError) {
      let placeholder = try directory.create(name)
      defer { placeholder.close() }
      return FileIdentity(try placeholder.status())
    } catch {
      throw error.errno == EEXIST ? Self.taken : TransferError(error, while: "make the target")
    }
  }

  /// Makes names durable: one sync for each directory, however many files it has.
  private static func syncDirectories(
    of group: [PendingPublication], _ results: inout [Result<Void, TransferError>]
  ) {
    var synced: [FileIdentity: TransferError?] = [:]
    for (index, entry) in group.enumerated() {
      let part = entry.part
      guard case .success = results[index], part.durability == .strict else { continue }
      // A directory that cannot be identified is synced by itself.
      let identity = group.count > 1 ? (try? part.directory.status()).map(FileIdentity.init) : nil
      let failure: TransferError?
      if let identity, let known = synced[identity] {
        failure = known
        if let known { part.state.withLockedValue { $0.failure = known } }
      } else {
        failure = part.syncOwnDirectory()
        if let identity { synced[identity] = failure }
      }
      if let failure { results[index] = .failure(failure) }
    }
  }

  private func syncOwnDirectory() -> TransferError? {
    do throws(TransferError) {
      try sync("directory") { () throws(DiskError) in try directory.syncIfPossible() }
      return nil
    } catch {
      return error
    }
  }

  /// Finishes after publication.
  private func endPublication() {
    // The file is complete: if its journal remains, the next run removes it.
    if let journal = state.withLockedValue({ $0.keepsJournal ? nil : $0.journalIdentity }) {
      try? directory.unlink(names.journal, ifStill: journal)
    }
  }
}

extension TransferError {
  static let resizedError = TransferError(
    .io,
    "the part file was cut or extended by another program",
    advice: "run it again to fetch its bytes anew"
  ).with(.lostBytes)
}

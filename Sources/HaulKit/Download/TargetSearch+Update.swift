import HaulCore
import HaulFiles

/// `--if-exists update` (docs/decisions/014-the-same-command-again.md).
extension TargetSearch {
  /// Updates the file that an earlier download of this address made; any other file is left
  /// unchanged.
  func update(isFree: Bool) throws(TransferError) -> TargetClaim.Outcome {
    let files = try existingFiles()
    if !request.checksums.isEmpty {
      for file in files where try request.checksums.mismatch(with: digests(of: file)) == nil {
        return .alreadyExists(path: file.path, size: file.size, request.checksums)
      }
    }
    // Another transfer of this manager may use the first one.
    for own in files {
      guard let record = own.record, mayReplace(record), let part = try acquire(own.name) else {
        continue
      }
      if isOwn(part, own.name) || (isExact && mayDiscard(part)) {
        var claim = claim(own.name, part, number: own.number)
        claim.replacement = .own(record, user: disk.effectiveUser)
        if trustsExisting { claim.existing = [own.existing] }
        return .claimed(claim)
      }
      release(part, own.name)
    }
    // If there are checksums, no existing file matches them.
    if isExact, !request.checksums.isEmpty { throw Self.conflict }
    if isFree { return .claimed(try reservations.search(claimFree)) }
    var claim = isExact ? try claimWanted() : try claimNumbered()
    if trustsExisting {
      // A file that Haul made for another address does not count, whatever its date.
      claim.existing = files.filter { $0.record.map(mayBeRequested) ?? true }.map(\.existing)
    }
    if request.checksums.isEmpty {
      // Where files cannot be marked with attributes, each run would add another file.
      claim.needsExisting = isExact || (files.count > 1 && files.first?.canBeMarked == false)
    }
    return .claimed(claim)
  }

  /// The file that would be replaced, if it has the digests: another one that has them is the same.
  /// One that starts over is fetched, and a client over TCP learns nothing of other files.
  func unlessRight() throws(TransferError) -> TargetClaim.Outcome? {
    guard !request.checksums.isEmpty, !request.startOver, !request.isOfClient,
      case .regular(let size, _) = try state(of: name), try !isPlanted(name),
      // What cannot be read is replaced.
      let found = try? FileVerifier.digests(
        request.checksums.map(\.algorithm), of: name.text, size: size, in: directory),
      request.checksums.mismatch(with: found) == nil
    else { return nil }
    return .alreadyExists(path: directory.filePath(name.text), size: size, request.checksums)
  }

  /// Whether a file whose length and date are those on the server is up to date. One that starts
  /// over is asked for, because what is there may be damaged.
  private var trustsExisting: Bool { request.checksums.isEmpty && !request.startOver }

  /// Takes the name of a file that this download made, if it is unchanged or gone; otherwise nil.
  func claimPrevious() throws(TransferError) -> TargetClaim? {
    if try TargetCheck.state(of: name.text, in: directory) == .absent {
      return try reservations.search(claimFree)
    }
    guard request.ifExists != .overwrite else { return try claimReplaced() }
    let user = disk.effectiveUser
    guard let record = FileRecord.read(name.text, in: directory, user: user),
      mayReplace(record)
    else { return nil }
    var claim = try claimWanted()
    claim.replacement = .own(record, user: user)
    return claim
  }

  /// Whether the file may be the requested one. The owner's programs use files: one of a client
  /// proves nothing to the owner.
  private func mayBeRequested(_ record: FileRecord) -> Bool {
    record.matches(request.url) && (request.isOfClient || !record.isOfClient)
  }

  /// Whether the file is an earlier version of the requested one, which the same side asked for.
  private func mayReplace(_ record: FileRecord) -> Bool {
    record.matches(request.url) && record.isOfClient == request.isOfClient
  }

  /// Whether a file can have attributes.
  private func canBeMarked(_ name: FileName) -> Bool {
    guard let file = try? directory.open(name.text, writing: false) else { return true }
    defer { file.close() }
    do throws(DiskError) {
      _ = try file.attribute()
      return true
    } catch {
      return false
    }
  }

  /// A regular file with the wanted name, or with a number added.
  private struct ExistingTarget {
    let number: Int
    let name: FileName
    let path: String
    let size: Int64
    let modified: Double
    /// Haul's record of the file, if the file is unchanged.
    let record: FileRecord?
    let canBeMarked: Bool

    var existing: DownloadMachine.ExistingFile {
      .init(
        path: path, size: size, modified: modified, entityTag: record?.entityTag,
        hasWeakDate: record?.hasWeakDate ?? false, hasCoarseDate: !canBeMarked,
        isOwn: record != nil)
    }
  }

  /// The file with the wanted name and, if numbers are added, those up to the first free number
  /// after `highestNumber`.
  private func existingFiles() throws(TransferError) -> [ExistingTarget] {
    var files: [ExistingTarget] = []
    var number = 0
    while true {
      let candidate = number == 0 ? name : name.numbered(number)
      let state = try state(of: candidate)
      if case .regular(let size, let modified) = state, try !isPlanted(candidate) {
        let record = FileRecord.read(candidate.text, in: directory, user: disk.effectiveUser)
        files.append(
          ExistingTarget(
            number: number, name: candidate, path: directory.filePath(candidate.text), size: size,
            modified: modified, record: record,
            canBeMarked: record != nil || canBeMarked(candidate)))
      }
      if isExact || (state == .absent && number >= highestNumber) { return files }
      number += 1
    }
  }

  /// Whether another user may have put the file there, and may change it later: then it proves
  /// nothing. The kernel has the same rule for such directories (fs.protected_regular).
  private func isPlanted(_ name: FileName) throws(TransferError) -> Bool {
    guard status.mode & 0o1000 != 0 else { return false }
    let owner = try TargetCheck.owner(of: name.text, in: directory)
    return owner.map { ![disk.effectiveUser, status.owner, 0].contains($0) } ?? false
  }

  /// Whether a file, or a part of one, has the wanted name or one of its numbers.
  func hasFiles() throws(TransferError) -> Bool {
    for number in 0...highestNumber {
      if try hasJournal(number == 0 ? name : name.numbered(number)) { return true }
    }
    return try !existingFiles().isEmpty
  }

  private func digests(of file: ExistingTarget) throws(TransferError) -> [Checksum] {
    try FileVerifier.digests(
      request.checksums.map(\.algorithm), of: file.name.text, size: file.size, in: directory)
  }
}

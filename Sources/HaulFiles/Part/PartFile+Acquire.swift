package import HaulCore

extension PartFile {
  /// Takes the part file of a target, and adopts what an earlier run left.
  /// - Parameters:
  ///   - name: the final name, in `directory`.
  ///   - nonce: 16 random bytes that identify this run.
  ///   - longest: files up to this length defer their journal until something must outlive the
  ///     process; see `PartFile+DeferredJournal`.
  /// - Throws: `in-use` (another process has it), `name-conflict` (files of these names that are
  ///   not ours, or a journal of a newer version), `permission-denied`, `disk-full`, `io`,
  ///   `cancelled`.
  package static func acquire(
    disk: any Disk, directory: any DiskDirectory, name: String, nonce: [UInt8],
    durability: DownloadRequest.Durability, deferringJournalUpTo longest: Int64 = 0,
    isCancelled: () -> Bool = { false }
  ) throws(TransferError) -> PartFile {
    guard nonce.count == 16 else { throw TransferError(.internal, "a nonce has 16 bytes") }
    let names = try PartNames(name)
    if longest > 0, try isFree(names, in: directory) {
      return deferred(
        upTo: longest, disk: disk, directory: directory, names: names, nonce: nonce,
        durability: durability)
    }
    try refuseUnknownPart(names, in: directory)
    let lock = try JournalLock.take(names.journal, in: directory, user: disk.effectiveUser)
    do throws(TransferError) {
      let adoption = PartRecovery(
        disk: disk, directory: directory, names: names, nonce: nonce, durability: durability,
        lock: lock)
      return try adoption.perform(isCancelled)
    } catch {
      lock.abandon(names.journal, in: directory)
      throw error
    }
  }

  /// Refuses a part file that is not known to be ours: it has neither a journal nor our attribute.
  private static func refuseUnknownPart(
    _ names: PartNames, in directory: any DiskDirectory
  ) throws(TransferError) {
    let isNotOurs = try mapping("check the part file") { () throws(DiskError) in
      guard try directory.status(of: names.journal) == nil,
        let status = try directory.status(of: names.part), status.kind == .regular, status.size > 0
      else { return false }
      // A file that cannot be opened is refused, or reported, when it is adopted.
      guard let file = try? directory.open(names.part, writing: false) else { return false }
      defer { file.close() }
      return ((try? file.attribute()) ?? nil) == nil
    }
    guard isNotOurs else { return }
    throw TransferError(
      .nameConflict,
      "\(names.part) exists, and Haul did not create it",
      advice: "it was left unchanged, move it away")
  }

  /// As `acquire` with a deferred journal, for a target with neither journal nor part file. For any
  /// other it returns nil and changes nothing. It checks the directory and reads no file.
  package static func acquireNew(
    disk: any Disk, directory: any DiskDirectory, name: String, nonce: [UInt8],
    durability: DownloadRequest.Durability, deferringJournalUpTo longest: Int64
  ) throws(TransferError) -> PartFile? {
    let names = try PartNames(name)
    guard nonce.count == 16, longest > 0, try isFree(names, in: directory) else { return nil }
    return deferred(
      upTo: longest, disk: disk, directory: directory, names: names, nonce: nonce,
      durability: durability)
  }
}

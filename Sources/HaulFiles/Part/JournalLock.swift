import HaulCore
import HaulLibC

/// The journal, opened and locked. Its holder owns the part file.
struct JournalLock {
  let file: any DiskFile
  let identity: FileIdentity
  let wasCreated: Bool
  /// When it was last written before this run, which writes it again.
  let changed: Double

  /// - Throws: `in-use`, `name-conflict`, `permission-denied`, `disk-full`, `io`.
  static func take(_ name: String, in directory: any DiskDirectory, user: UInt32)
    throws(TransferError) -> JournalLock
  {
    // Between two of these calls, its owner may remove it, or another process may create it.
    for _ in 0..<16 {
      if let lock = try attempt(name, directory, user) { return lock }
    }
    throw TransferError(.inUse, "the journal is being made and removed by another process")
  }

  private static func attempt(_ name: String, _ directory: any DiskDirectory, _ user: UInt32)
    throws(TransferError) -> JournalLock?
  {
    guard let (file, wasCreated) = try open(name, directory, user) else { return nil }
    do throws(TransferError) {
      let status = try mapping("check the journal", file.status())
      if status.links == 0 {
        file.close()
        return nil
      }
      try Ownership.check(status, user: user, what: "journal")
      // Where files cannot be locked, only the nonce of the run distinguishes writers.
      guard try tryLock(file, "journal") ?? true else { throw inUse }
      let identity = FileIdentity(status)
      let isStill = try mapping("check the journal", directory.has(identity, as: name))
      if isStill {
        return JournalLock(
          file: file, identity: identity, wasCreated: wasCreated, changed: status.changed)
      }
    } catch {
      file.close()
      throw error
    }
    file.close()
    return nil
  }

  private static func open(_ name: String, _ directory: any DiskDirectory, _ user: UInt32)
    throws(TransferError) -> (any DiskFile, wasCreated: Bool)?
  {
    let status = try mapping("check the journal", directory.status(of: name))
    if let status { try Ownership.check(status, user: user, what: "journal") }
    do throws(DiskError) {
      return status == nil
        ? (try directory.create(name), true) : (try directory.open(name, writing: true), false)
    } catch {
      if error.errno == EEXIST || (error.errno == ENOENT && status != nil) { return nil }
      throw status == nil
        ? TransferError(error, making: "the journal", in: directory)
        : TransferError(error, while: "open the journal")
    }
  }

  static let inUse = TransferError(
    .inUse,
    "another haul process writes to this file, or another transfer whose name differs only in "
      + "upper and lower case",
    advice: "wait for it, or choose another name")

  /// Whether this process has the lock now; nil where files cannot be locked.
  static func tryLock(_ file: any DiskFile, _ what: String) throws(TransferError) -> Bool? {
    do throws(DiskError) {
      return try file.tryLock()
    } catch {
      if [ENOLCK, EOPNOTSUPP, ENOSYS, EINVAL].contains(error.errno) { return nil }
      throw TransferError(error, while: "lock the \(what)")
    }
  }

  /// Releases it unused.
  func abandon(_ name: String, in directory: any DiskDirectory) {
    // If this fails, an empty journal remains, which the next run takes over.
    if wasCreated { try? directory.unlink(name, ifStill: identity) }
    file.close()
  }
}

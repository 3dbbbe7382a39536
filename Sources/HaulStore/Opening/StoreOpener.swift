import FoundationEssentials
import GRDB
import HaulCore

/// The steps from a directory to open connections.
struct StoreOpener: Sendable {
  let directory: StoreDirectory
  let clock: any TransferClock
  let options: SQLiteStore.Options

  /// - Throws: as `SQLiteStore.init`.
  func perform() async throws(TransferError) -> (StoreDatabase, damage: TransferError?) {
    try await OneShot<Result<(StoreDatabase, TransferError?), TransferError>>.wait { oneShot in
      StoreThreads.run { oneShot.give(Result { () throws(TransferError) in try steps() }) }
    }.get()
  }

  private func steps() throws(TransferError) -> (StoreDatabase, TransferError?) {
    try directory.prepareDirectory()
    let lock = try StoreLock(
      directory, program: options.program ?? ProcessInfo.processInfo.processName,
      wallSeconds: clock.wallSeconds)
    let damage: TransferError?
    do throws(TransferError) {
      damage = try inspect(lock)
    } catch {
      // Nothing was written, so the mark of the last close stays valid.
      lock.release(isClean: lock.lastShutdown == .closed)
      throw error
    }
    do throws(TransferError) {
      return (StoreDatabase(pool: try connect(lock), lock: lock), damage)
    } catch {
      lock.release(isClean: false)
      throw error
    }
  }

  /// Checks what exists before anything is written.
  private func inspect(_ lock: StoreLock) throws(TransferError) -> TransferError? {
    let exists = try directory.checkFile(directory.database)
    var companions: [String] = []
    for suffix in StoreDirectory.companions
    where try directory.checkFile(directory.database + suffix) {
      companions.append(suffix)
    }
    var finding: String?
    // Only a database that was never used is empty: one that was closed, or has a log, was not.
    let wasUsed = lock.lastShutdown == .closed || companions.contains("-wal")
    if exists, wasUsed, try directory.isEmpty(directory.database) {
      // SQLite would take it for a new database, and delete its log.
      finding = "it has 0 bytes"
    } else if exists {
      let inspection = Inspection(
        path: directory.database, rollsBack: companions.contains("-journal"),
        checksAllPages: lock.lastShutdown == .unknown)
      finding = try inspection.damage()
    } else if !companions.isEmpty {
      // A log without its database: SQLite would use it as the log of the new one.
      finding = "the log exists and the database does not"
    }
    guard let finding else {
      if !exists { try directory.makeDatabase() }
      return nil
    }
    return try handle(finding)
  }

  private func handle(_ finding: String) throws(TransferError) -> TransferError {
    guard options.ifDamaged == .startEmpty else {
      throw TransferError(
        .io,
        "the queue's database \(directory.database) is damaged (\(finding))",
        advice: "nothing was changed: put back a copy of it, or move it away with its -wal file to "
          + "start with an empty queue")
    }
    let aside = try Quarantine(directory: directory).move(at: clock.wallSeconds)
    try directory.makeDatabase()
    return TransferError(
      .io,
      "the queue's database was damaged (\(finding)) and is now \(aside)",
      advice: "the queue starts empty, files and downloaded bytes are unchanged: add them again to "
        + "resume")
  }

  private func connect(_ lock: StoreLock) throws(TransferError) -> DatabasePool {
    do {
      return try DatabasePoolFactory(
        path: directory.database, maximumSize: options.maximumSize, lock: lock
      ).makePool()
    } catch {
      throw TransferError(storing: error, while: "open the queue's database")
    }
  }
}

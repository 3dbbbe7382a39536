import GRDB
import HaulCore
import Synchronization

/// The connections of a store, and calls on their threads.
final class StoreDatabase: Sendable {
  private let pool: DatabasePool
  private let lock: StoreLock
  private let isClosed = Atomic(false)
  /// Whether damage was found: the next opening must check the whole database.
  private let isDamaged = Atomic(false)
  /// Whether the log may hold secrets that are not in the list any more. The log of a process that
  /// was killed may.
  private let logMayHoldRemovedSecrets = Atomic(true)

  init(pool: DatabasePool, lock: StoreLock) {
    self.pool = pool
    self.lock = lock
    pool.writeWithoutTransaction { changed($0, hasRemovedSecrets: false) }
  }

  /// Uses completion handlers, because GRDB's `async` calls end when their task is cancelled.
  func read<Value: Sendable>(
    _ action: String, _ body: @escaping @Sendable (Database) throws -> Value
  ) async throws(TransferError) -> Value {
    try checkOpen()
    let result = await OneShot<Result<Value, any Error>>.wait { oneShot in
      pool.asyncRead { database in oneShot.give(Result { try body(database.get()) }) }
    }
    return try value(of: result, action)
  }

  func write(
    _ action: String, _ body: @escaping @Sendable (Database) throws -> Void
  ) async throws(TransferError) {
    try checkOpen()
    let result = await OneShot<Result<Void, any Error>>.wait { oneShot in
      pool.asyncWriteWithoutTransaction { db in oneShot.give(Result { try body(db) }) }
    }
    try value(of: result, action)
  }

  /// Empties the log after a change that removed secrets, by writing all of it to the database.
  ///
  /// It fails while a reader needs the log, or when the disk is full; the change itself is stored.
  /// The next change tries again, and so does closing.
  func changed(_ db: Database, hasRemovedSecrets: Bool) {
    guard hasRemovedSecrets || logMayHoldRemovedSecrets.load(ordering: .relaxed) else { return }
    let isEmpty = (try? db.checkpoint(.truncate)) != nil
    logMayHoldRemovedSecrets.store(!isEmpty, ordering: .relaxed)
  }

  private func checkOpen() throws(TransferError) {
    guard !isClosed.load(ordering: .acquiring) else {
      throw TransferError(.io, "the queue was closed", advice: "open it again to use it")
    }
  }

  private func value<Value>(
    of result: Result<Value, any Error>, _ action: String
  ) throws(TransferError) -> Value {
    switch result {
    case .success(let value): return value
    case .failure(let error):
      if (error as? DatabaseError)?.isDamage ?? false {
        isDamaged.store(true, ordering: .releasing)
      }
      throw TransferError(storing: error, while: action)
    }
  }

  func close() async {
    guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    await OneShot.wait { oneShot in
      // Runs on a thread that may block; it waits for every write that was started.
      StoreThreads.run { [pool, lock, isSound = !isDamaged.load(ordering: .acquiring)] in
        do {
          try pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
          try pool.close()
          lock.release(isClean: isSound)
        } catch {
          // All commits are in the log. Without the mark of a clean close, the next opening checks
          // the database.
          lock.release(isClean: false)
        }
        oneShot.give(())
      }
    }
  }
}

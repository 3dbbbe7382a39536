import FoundationEssentials
import GRDB
import HaulCore
import HaulLibC
import HaulStore
import HaulTesting
import Testing

/// A separate directory for a store, removed at the end.
final class Scratch: Sendable {
  let base: String
  /// The path of the store, which creates it.
  let path: String

  init() {
    base =
      FileManager.default.temporaryDirectory.path
      + "/haul-store-\(UInt64.random(in: 0 ... .max))"
    path = base + "/queue"
  }

  deinit {
    // Files that a test leaves in the temporary directory are no failure.
    try? FileManager.default.removeItem(atPath: base)
  }

  var database: String { path + "/queue.sqlite" }
  var names: Set<String> {
    get throws { Set(try FileManager.default.contentsOfDirectory(atPath: path)) }
  }

  func open(
    _ change: (inout SQLiteStore.Options) -> Void = { _ in }
  ) async throws -> SQLiteStore {
    var options = SQLiteStore.Options()
    change(&options)
    return try await SQLiteStore(directory: path, clock: ManualClock(), options: options)
  }

  /// The error of an open call that must fail.
  func refusal(
    _ change: (inout SQLiteStore.Options) -> Void = { _ in }
  ) async throws -> TransferError {
    do {
      let store = try await open(change)
      await store.close()
    } catch let error as TransferError {
      return error
    }
    throw Unexpected(what: "it was opened")
  }

  func bytes(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(filePath: "\(path)/\(name)")))
  }

  func put(_ bytes: some Sequence<UInt8>, as name: String) throws {
    try Data(bytes).write(to: URL(filePath: "\(path)/\(name)"))
  }

  func mode(_ name: String) throws -> UInt32 {
    var status = stat()
    try #require(lstat("\(path)/\(name)", &status) == 0)
    return UInt32(status.st_mode) & 0o7777
  }

  func setMode(_ mode: UInt32, of name: String) throws {
    try #require(chmod("\(path)/\(name)", mode_t(mode)) == 0)
  }

  /// The database as other programs see it, while no store is open.
  func sql<Value>(_ body: (Database) throws -> Value) throws -> Value {
    let queue = try DatabaseQueue(path: database)
    let value = try queue.write(body)
    try queue.close()
    return value
  }

  /// A copy of the database and the given length of its log, in another directory: the result of a
  /// kill.
  func copy(logBytes: Int? = nil) throws -> Scratch {
    let copy = Scratch()
    try FileManager.default.createDirectory(
      atPath: copy.path, withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    try copy.put(bytes("queue.sqlite"), as: "queue.sqlite")
    let log = try bytes("queue.sqlite-wal")
    try copy.put(log.prefix(logBytes ?? log.count), as: "queue.sqlite-wal")
    return copy
  }
}

struct Unexpected: Error {
  let what: String
}

/// The error of a call that must fail.
func failure(_ body: () async throws -> Void) async throws -> TransferError {
  do {
    try await body()
  } catch let error as TransferError {
    return error
  }
  throw Unexpected(what: "it did not fail")
}

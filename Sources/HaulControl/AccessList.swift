import Crypto
import FoundationEssentials
package import HaulCore
import HaulFiles
import HaulLibC
import NIOConcurrencyHelpers

/// What a token allows.
package enum AccessScope: String, Codable, CaseIterable, Sendable {
  /// To read the interface: the list, its events and the numbers.
  case read
  /// All that a client over TCP may do.
  case control
  /// `GET /metrics` only.
  case metrics

  /// - Parameter path: without its query.
  package func allows(_ method: String, _ path: String) -> Bool {
    switch self {
    case .control: true
    case .read: ["GET", "HEAD"].contains(method)
    case .metrics: method == "GET" && path.isByteEqual("/metrics")
    }
  }
}

/// A token with a scope; the file has no secret of it.
package struct ScopedToken: Codable, Hashable, Sendable {
  package let name: String
  package let scope: AccessScope
  /// In seconds since 1970.
  package let created: Double
  /// SHA-256 of the token, which has 256 random bits.
  let hash: String

  fileprivate static func hash(_ token: String) -> String {
    SHA256.hash(data: Array(token.utf8)).hexDigits
  }
}

/// The password of the page and the tokens with a scope, in a file for its owner only. Commands
/// change it, and a running daemon reads it again.
package final class AccessList: Sendable {
  private struct Stored: Codable {
    var password: PasswordHash?
    var tokens: [ScopedToken] = []
  }

  private struct State {
    var stored: Stored
    var stamp: FileStamp?
  }

  package static let maximumTokens = 100
  private static let prefix = "haul_"

  private let file: StateFile
  private let state = NIOLockedValueBox(State(stored: Stored(), stamp: nil))

  /// - Throws: as `StateFile`: `permission-denied` when other users can read the file; `io`.
  package init(file path: String) throws(TransferError) {
    file = StateFile(path: path)
    let (stamp, stored) = (FileStamp(path), try read())
    state.withLockedValue { $0 = State(stored: stored, stamp: stamp) }
  }

  package var password: PasswordHash? { current.password }
  package var tokens: [ScopedToken] { current.tokens }

  /// The scope of a token; nil for any other text.
  package func scope(of token: String) -> AccessScope? {
    guard token.hasBytePrefix(Self.prefix) else { return nil }
    let hash = Array(ScopedToken.hash(token).utf8)
    return tokens.first { Array($0.hash.utf8).isEqualInConstantTime(to: hash) }?.scope
  }

  /// - Parameter password: nil to have none.
  /// - Throws: as `StateFile`.
  package func setPassword(_ password: PasswordHash?) throws(TransferError) {
    try change { (stored) throws(TransferError) in stored.password = password }
  }

  /// A new token, which is in no file.
  /// - Throws: `name-conflict`, `refused`; as `StateFile`.
  package func add(
    _ name: String, _ scope: AccessScope, at now: Double
  ) throws(TransferError) -> String {
    let token = Self.prefix + RandomText.make(words: 4)
    try change { (stored) throws(TransferError) in
      guard !stored.tokens.contains(where: { $0.name.isByteEqual(name) }) else {
        throw TransferError(
          .nameConflict, "there is a token '\(name)'",
          advice: "remove it first: haul token remove \(name)")
      }
      guard stored.tokens.count < Self.maximumTokens else {
        throw TransferError(.refused, "there are \(Self.maximumTokens) tokens; remove one first")
      }
      stored.tokens.append(
        ScopedToken(name: name, scope: scope, created: now, hash: ScopedToken.hash(token)))
    }
    return token
  }

  /// - Returns: false if there is none with this name.
  /// - Throws: as `StateFile`.
  package func remove(_ name: String) throws(TransferError) -> Bool {
    guard tokens.contains(where: { $0.name.isByteEqual(name) }) else { return false }
    try change { (stored) throws(TransferError) in
      stored.tokens.removeAll { $0.name.isByteEqual(name) }
    }
    return true
  }

  /// What the file has now. If it can no longer be read, nobody has access with it.
  private var current: Stored {
    let stamp = FileStamp(file.path)
    return state.withLockedValue { state in
      if state.stamp != stamp { state = State(stored: (try? read()) ?? Stored(), stamp: stamp) }
      return state.stored
    }
  }

  private func read() throws(TransferError) -> Stored {
    guard let bytes = try file.read(isSecret: true) else { return Stored() }
    guard let stored = try? JSONDecoder().decode(Stored.self, from: Data(bytes)) else {
      throw TransferError(
        .io, "\(file.path) cannot be read",
        advice: "delete it, and set the password and the tokens again")
    }
    return stored
  }

  /// Under a lock of the directory, so that two commands do not undo each other's change.
  private func change(
    _ body: (inout Stored) throws(TransferError) -> Void
  ) throws(TransferError) {
    let directory = open(file.path.pathParts.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0, flock(directory, LOCK_EX) == 0 else {
      throw TransferError(.io, "cannot lock \(file.path): \(SystemError.text(errno))")
    }
    defer { close(directory) }
    var stored = try read()
    try body(&stored)
    guard let bytes = try? JSONEncoder().encode(stored) else {
      throw TransferError(.internal, "\(file.path) cannot be encoded")
    }
    try file.write(bytes)
    let new = stored
    state.withLockedValue { $0 = State(stored: new, stamp: FileStamp(file.path)) }
  }
}

/// It differs once a file has been replaced or written.
package struct FileStamp: Hashable, Sendable {
  private let numbers: [Int]

  /// Of a file that is not there too.
  package init(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else {
      numbers = []
      return
    }
    let (changed, written) = (status.st_ctim, status.st_mtim)
    numbers = [
      Int(status.st_dev), Int(truncatingIfNeeded: status.st_ino), Int(status.st_size),
      changed.tv_sec, changed.tv_nsec, written.tv_sec, written.tv_nsec,
    ]
  }
}

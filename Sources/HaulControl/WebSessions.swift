import Crypto
import FoundationEssentials
package import HaulCore
import NIOConcurrencyHelpers

/// Who may use the web page: codes that `haul ui` has received, and sessions that began with one.
///
/// A page survives a restart of the daemon, so the hashes of its tokens are in a file.
package final class WebSessions: Sendable {
  private struct Session: Codable {
    /// SHA-256 of the token.
    var hash: [UInt8]
    /// When it was last used, in seconds since 1970; a day late at most.
    var used: Double
  }

  private struct Stored: Codable {
    /// Of the page, so that it finds the daemon again.
    var port: Int?
    var sessions: [Session] = []
  }

  private struct State {
    var codes: [(hash: [UInt8], until: Instant)] = []
    var stored: Stored
  }

  private static let lifetimeOfCode: Duration = .seconds(60)
  private static let maximumCodes = 16
  private static let maximumSessions = 32
  private static let secondsUnused: Double = 30 * 86_400
  private static let day: Double = 86_400

  private let file: PrivateFile
  private let clock: any TransferClock
  private let state: NIOLockedValueBox<State>

  /// - Throws: `permission-denied` when other users can read the file; `io`.
  package init(file path: String, clock: any TransferClock) throws(TransferError) {
    file = PrivateFile(path: path)
    self.clock = clock
    // An unreadable file counts as having no sessions: 'haul ui' begins a new one.
    let stored = try file.read().flatMap {
      try? JSONDecoder().decode(Stored.self, from: Data($0))
    }
    state = NIOLockedValueBox(State(stored: stored ?? Stored()))
  }

  /// The port of earlier sessions; nil without such sessions.
  package var port: Int? {
    let now = clock.wallSeconds
    return state.withLockedValue { state in
      state.stored.sessions.contains { Self.isAlive($0, at: now) } ? state.stored.port : nil
    }
  }

  /// Notes the port on which the page is served.
  /// - Throws: `io`, `disk-full`.
  package func setPort(_ port: Int) throws(TransferError) {
    try change { stored in
      guard stored.port != port else { return false }
      stored.port = port
      return true
    }
  }

  /// A code that begins one session within 60 s.
  package func makeCode() -> String {
    let code = Self.random(words: 2)
    let now = clock.now
    state.withLockedValue { state in
      state.codes.removeAll { $0.until <= now }
      state.codes = state.codes.suffix(Self.maximumCodes - 1)
      state.codes.append((Self.hash(code), now + Self.lifetimeOfCode))
    }
    return code
  }

  /// The token of a new session; nil for a wrong code, or one that was used or is too old.
  /// - Throws: `io`, `disk-full`.
  package func begin(with code: String) throws(TransferError) -> String? {
    let (hash, now) = (Self.hash(code), clock.now)
    let isGood = state.withLockedValue { state in
      var isGood = false
      // Hashes of random codes: the time of a comparison says nothing about a code.
      for index in state.codes.indices.reversed() where Self.isEqual(state.codes[index].hash, hash)
      {
        isGood = state.codes.remove(at: index).until > now
      }
      return isGood
    }
    guard isGood else { return nil }
    let (token, wall) = (Self.random(words: 4), clock.wallSeconds)
    try change { stored in
      stored.sessions.removeAll { !Self.isAlive($0, at: wall) }
      stored.sessions.sort { $0.used < $1.used }
      stored.sessions = stored.sessions.suffix(Self.maximumSessions - 1)
      stored.sessions.append(Session(hash: Self.hash(token), used: wall))
      return true
    }
    return token
  }

  /// Whether it is the token of a session.
  package func isValid(_ token: some StringProtocol) -> Bool {
    let (hash, now) = (Self.hash(token), clock.wallSeconds)
    let session = state.withLockedValue { state in
      state.stored.sessions.first { Self.isEqual($0.hash, hash) && Self.isAlive($0, at: now) }
    }
    guard let session else { return false }
    if now - session.used > Self.day { noteUse(of: hash, at: now) }
    return true
  }

  private func noteUse(of hash: [UInt8], at now: Double) {
    // The session only ends earlier if this is not stored.
    try? change { stored in
      for index in stored.sessions.indices where stored.sessions[index].hash == hash {
        stored.sessions[index].used = now
      }
      return true
    }
  }

  private func change(_ body: (inout Stored) -> Bool) throws(TransferError) {
    let result = state.withLockedValue { state -> Result<Void, TransferError> in
      guard body(&state.stored) else { return .success(()) }
      // Under the lock, so that the last change is stored last.
      do {
        try file.write(Array(try JSONEncoder().encode(state.stored)))
        return .success(())
      } catch {
        return .failure(
          error as? TransferError ?? TransferError(.internal, "sessions cannot be encoded"))
      }
    }
    try result.get()
  }

  private static func isAlive(_ session: Session, at now: Double) -> Bool {
    now - session.used < secondsUnused
  }

  private static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }

  private static func hash(_ text: some StringProtocol) -> [UInt8] {
    Array(SHA256.hash(data: Array(text.utf8)))
  }

  private static func random(words: Int) -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<words).map { _ in
      let digits = String(generator.next(), radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }
}

import Crypto
import FoundationEssentials
package import HaulCore
import NIOConcurrencyHelpers

/// Who may use the web page: codes that `haul ui` has received, and sessions that began with one or
/// with the password.
///
/// A page survives a restart of the daemon, so sessions are in a file; it has nothing secret.
package final class WebSessions: Sendable {
  private struct Session: Codable {
    var id: String
    /// Where its page is, so that the page finds the daemon again; 0 if that follows from options.
    var port: Int
    /// In seconds since 1970. The file has the last use a day late at most.
    var begun: Double
    var used: Double
    var browser: String
    /// The salt of the password with which it began; it ends with that password.
    var salt: String?
  }

  private struct Stored: Codable {
    var sessions: [Session] = []
  }

  private struct State {
    var codes: [(hash: [UInt8], until: Instant)] = []
    var stored: Stored
    /// When the file was last written.
    var written: Double
  }

  package static let lifetimeOfCode: Duration = .seconds(60)
  private static let maximumCodes = 16
  private static let maximumSessions = 32
  package static let secondsUnused: Double = 30 * 86_400
  private static let day: Double = 86_400
  /// The longest text about a browser, in cells of a terminal.
  private static let browserCells = 160

  private let file: StateFile
  private let keys: SessionKeys
  private let clock: any TransferClock
  private let access: AccessList?
  private let state: NIOLockedValueBox<State>

  /// - Throws: `permission-denied` when other users can read the file; `io`.
  package init(
    file path: String, keys: SessionKeys, clock: any TransferClock, access: AccessList? = nil
  ) throws(TransferError) {
    file = StateFile(path: path)
    (self.keys, self.clock, self.access) = (keys, clock, access)
    // An unreadable file counts as having no sessions: 'haul ui' begins a new one.
    let stored = try file.read(isSecret: true).flatMap {
      try? JSONDecoder().decode(Stored.self, from: Data($0))
    }
    state = NIOLockedValueBox(State(stored: stored ?? Stored(), written: clock.wallSeconds))
  }

  /// The ports of pages that may still be open.
  package var ports: [Int] { Set(alive.map(\.port)).subtracting([0]).sorted() }

  /// Those that have not ended, the one that was used last first.
  package var list: [SessionDocument] {
    alive.sorted { $0.used > $1.used }.map {
      SessionDocument(id: $0.id, begun: $0.begun, used: $0.used, browser: $0.browser)
    }
  }

  /// A code that begins one session within 60 s.
  package func makeCode() -> String {
    let code = RandomText.make(words: 2)
    let now = clock.now
    state.withLockedValue { state in
      state.codes.removeAll { $0.until <= now }
      state.codes = state.codes.suffix(Self.maximumCodes - 1)
      state.codes.append((Self.hash(code), now + Self.lifetimeOfCode))
    }
    return code
  }

  /// The key of a new session; nil for a wrong code, or one that was used or is too old.
  /// - Parameters:
  ///   - port: of the page.
  ///   - browser: its `User-Agent`.
  /// - Throws: `io`, `disk-full`.
  package func begin(
    with code: String, at port: Int, browser: String
  ) throws(TransferError) -> SessionKey? {
    let (hash, now) = (Self.hash(code), clock.now)
    let isGood = state.withLockedValue { state in
      var isGood = false
      // Hashes of random codes: the time of a comparison says nothing about a code.
      for index in state.codes.indices.reversed() where state.codes[index].hash == hash {
        isGood = state.codes.remove(at: index).until > now
      }
      return isGood
    }
    guard isGood else { return nil }
    return keys.key(of: try begin(at: port, browser: browser, salt: nil))
  }

  /// The cookie of a new session.
  /// - Parameter password: the one that was given.
  /// - Throws: `io`, `disk-full`.
  package func begin(
    with password: PasswordHash, browser: String
  ) throws(TransferError) -> String {
    keys.cookie(of: try begin(at: 0, browser: browser, salt: password.salt))
  }

  private func begin(
    at port: Int, browser: String, salt: String?
  ) throws(TransferError) -> String {
    let (id, wall) = (RandomText.make(words: 1), clock.wallSeconds)
    let session = Session(
      id: id, port: port, begun: wall, used: wall,
      browser: TerminalText.cut(TerminalText.escaped(browser), to: Self.browserCells), salt: salt)
    let current = access?.password?.salt
    try change { stored in
      stored.sessions.removeAll { !Self.isAlive($0, at: wall, current) }
      stored.sessions.sort { $0.used < $1.used }
      stored.sessions = stored.sessions.suffix(Self.maximumSessions - 1)
      stored.sessions.append(session)
    }
    return id
  }

  /// The session of a cookie, which then counts as used; nil if it has ended.
  package func session(ofCookie cookie: some StringProtocol) -> String? {
    guard let id = keys.id(inCookie: cookie), hasPassword(id) else { return nil }
    noteUse(of: id)
    return id
  }

  /// The session of a cookie, also if it has ended: a browser that knew the password.
  package func knownBrowser(ofCookie cookie: some StringProtocol) -> String? {
    keys.id(inCookie: cookie)
  }

  /// True if it has not ended and began with the password.
  package func hasPassword(_ id: String) -> Bool {
    alive.contains { $0.id == id && $0.salt != nil }
  }

  package func cookie(of id: String) -> String { keys.cookie(of: id) }

  /// The key of a session that has not ended.
  package func key(of id: String) -> SessionKey? {
    guard has(id) else { return nil }
    var key = keys.key(of: id)
    key.login = hasPassword(id) ? true : nil
    return key
  }

  /// A proof for the page with that id, which need not have a session any more.
  package func proof(for challenge: ChallengeBody, at address: String) -> SessionProof {
    keys.proof(for: challenge.session, address: address, challenge: challenge.challenge)
  }

  /// The id of the session of this token, also of one that has ended; nil for any other text.
  package func id(in token: some StringProtocol) -> String? { keys.id(in: token) }

  /// True if it is the token of a session, which then counts as used.
  package func isValid(_ token: some StringProtocol) -> Bool {
    guard let id = keys.id(in: token), has(id) else { return false }
    noteUse(of: id)
    return true
  }

  /// True if it has not ended.
  package func has(_ id: String) -> Bool { alive.contains { $0.id == id } }

  /// Ends a session.
  /// - Returns: false if there is none with this id.
  /// - Throws: `io`, `disk-full`.
  package func end(_ id: String) throws(TransferError) -> Bool {
    guard has(id) else { return false }
    try change { stored in stored.sessions.removeAll { $0.id == id } }
    return true
  }
}

extension WebSessions {
  private var alive: [Session] {
    let now = clock.wallSeconds
    let salt = access?.password?.salt
    return state.withLockedValue { $0.stored.sessions.filter { Self.isAlive($0, at: now, salt) } }
  }

  private func noteUse(of id: String) {
    let now = clock.wallSeconds
    let isDue = state.withLockedValue { state in
      for index in state.stored.sessions.indices where state.stored.sessions[index].id == id {
        state.stored.sessions[index].used = now
      }
      return now - state.written > Self.day
    }
    // The session only ends earlier if this is not stored.
    if isDue { try? change { _ in } }
  }

  private func change(_ body: (inout Stored) -> Void) throws(TransferError) {
    let now = clock.wallSeconds
    let result = state.withLockedValue { state -> Result<Void, TransferError> in
      var stored = state.stored
      body(&stored)
      // Under the lock, so that the last change is stored last.
      do {
        try file.write(try JSONEncoder().encode(stored))
        (state.stored, state.written) = (stored, now)
        return .success(())
      } catch {
        return .failure(
          error as? TransferError ?? TransferError(.internal, "sessions cannot be encoded"))
      }
    }
    try result.get()
  }

  /// - Parameter salt: of the password that there is now.
  private static func isAlive(_ session: Session, at now: Double, _ salt: String?) -> Bool {
    now - session.used < secondsUnused && (session.salt == nil || session.salt == salt)
  }

  private static func hash(_ text: some StringProtocol) -> [UInt8] {
    Array(SHA256.hash(data: Array(text.utf8)))
  }
}

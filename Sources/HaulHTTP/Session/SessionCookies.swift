import FoundationEssentials
import HaulCore
import NIOConcurrencyHelpers
import NIOPosix

/// The cookies that servers have set, by session. In memory only: a new process has none.
final class SessionCookies: Sendable {
  private struct Session {
    var jar = CookieJar()
    var lastUse = 0
  }

  private struct State {
    /// The cookies of all transfers, if they share them.
    var shared: CookieJar?
    var sessions: [TransferID: Session] = [:]
    /// Of all sessions.
    var bytes = 0
    var uses = 0
  }

  /// More than run at once.
  private static let maximumSessions = 1024

  private let maximumBytes: Int
  private let state: NIOLockedValueBox<State>
  private let wallSeconds: @Sendable () -> Double
  private let suffixFile: String
  /// Nil inside if there is no list.
  private let suffixes = NIOLockedValueBox<PublicSuffixList??>(nil)

  init(_ settings: HTTPTransport.Settings) {
    state = NIOLockedValueBox(State(shared: settings.session?.cookies))
    maximumBytes = settings.cookieBytes
    (wallSeconds, suffixFile) = (settings.wallSeconds, settings.publicSuffixFile)
  }

  /// The value of the `Cookie` field of a request; nil for none.
  /// - Parameter own: those of a request without a session.
  func field(for request: FetchRequest, own: CookieJar) -> String? {
    let given = request.headers["Cookie"]
    let jar = state.withLockedValue { state in
      state.shared ?? request.session.map { state.sessions[$0]?.jar ?? CookieJar() } ?? own
    }
    return jar.isEmpty
      ? given
      : jar.field(
        for: request.url, at: wallSeconds(), given: given, withOwn: request.mayUseEntries)
  }

  /// Takes the cookies of an answer.
  /// - Parameter own: those of a request without a session.
  func store(_ fields: HeaderFields, of request: FetchRequest, own: inout CookieJar) async {
    guard fields["Set-Cookie"] != nil else { return }
    let suffixes = await publicSuffixes(for: fields)
    let now = wallSeconds()
    func take(_ jar: inout CookieJar) {
      jar.store(fields, from: request.url, at: now) { suffixes?.isSuffix($0) }
    }
    let isOwn = state.withLockedValue { state in
      if var shared = state.shared {
        take(&shared)
        state.shared = shared
        return false
      }
      guard let session = request.session else { return true }
      state.uses += 1
      var known = state.sessions[session] ?? Session()
      known.lastUse = state.uses
      state.bytes -= known.jar.receivedBytes
      take(&known.jar)
      state.bytes += known.jar.receivedBytes
      state.sessions[session] = known
      removeOldest(&state)
      return false
    }
    if isOwn { take(&own) }
  }

  /// Forgets the cookies of a transfer that has ended.
  func end(_ session: TransferID) {
    state.withLockedValue { Self.remove(session, from: &$0) }
  }

  /// How many sessions have cookies, and their bytes.
  var held: (sessions: Int, bytes: Int) {
    state.withLockedValue { ($0.sessions.count, $0.bytes) }
  }

  private func removeOldest(_ state: inout State) {
    while state.sessions.count > Self.maximumSessions || state.bytes > maximumBytes,
      let oldest = state.sessions.min(by: { $0.value.lastUse < $1.value.lastUse })?.key
    { Self.remove(oldest, from: &state) }
  }

  private static func remove(_ session: TransferID, from state: inout State) {
    guard let removed = state.sessions.removeValue(forKey: session) else { return }
    state.bytes -= removed.jar.receivedBytes
  }

  /// The system's list, read when a server names a domain for the first time.
  private func publicSuffixes(for fields: HeaderFields) async -> PublicSuffixList? {
    let namesDomain = fields.values(of: "Set-Cookie").contains { SetCookie($0)?.domain != nil }
    guard namesDomain else { return nil }
    if let known = suffixes.withLockedValue({ $0 }) { return known }
    let path = suffixFile
    // Without a list, a cookie is for its own host only.
    let list = try? await NIOThreadPool.singleton.runIfActive {
      PublicSuffixList(try String(contentsOfFile: path, encoding: .utf8))
    }
    suffixes.withLockedValue { $0 = .some(list) }
    return list
  }
}

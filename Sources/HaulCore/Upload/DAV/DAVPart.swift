/// The temporary name of a file on a WebDAV server.
struct DAVPart: Sendable {
  let url: ResourceURL
  /// Whether the name is on disk here, and the server may have something under it.
  var isStored = false
  /// Whether the server has the whole file there.
  var isWhole = false
  /// Whether it has shown it there, and with which entity tag.
  var isVisible = false
  var tag: String?
}

/// What has the name of the file, before a MOVE.
enum DAVTarget: Sendable, Hashable {
  case unasked
  /// What the server was asked for, and has not said, or nothing.
  case asked
  /// What may be replaced, with its version where the server tells it. It is no directory: a MOVE
  /// that overwrites deletes a directory with all that is in it (RFC 4918, section 9.9.3).
  case file(StoredVersion?)

  var isFile: Bool { if case .file = self { true } else { false } }
  var version: StoredVersion? { if case .file(let version) = self { version } else { nil } }
}

/// The time that a server takes for a MOVE, once it has said that it is at work on it: it copies or
/// joins the file, which may take minutes.
struct DAVWait: Sendable {
  private var since: Instant?
  /// How often it was asked.
  private(set) var looks = 0

  private static let longest: Duration = .seconds(900)

  /// When it is asked again; nil if it has taken too long.
  mutating func next(at now: Instant, retryAfter: Duration?) -> Duration? {
    let since = since ?? now
    self.since = since
    guard now - since < Self.longest else { return nil }
    looks += 1
    let asked = min(retryAfter ?? .zero, RetryAfter.longestPause)
    return max(asked, .seconds(min(1 << min(looks - 1, 4), 15)))
  }
}

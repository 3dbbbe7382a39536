/// Why a transfer does not run: one type, from the queue to events, summaries, `--json` and the
/// store.
///
/// Times are seconds since 1970.
public enum WaitReason: Hashable, Sendable {
  /// All slots, or all connections, are taken.
  case slot
  /// The host has as many transfers or connections as it may have.
  case hostLimit
  /// The host asked for a pause.
  case hostBackOff(until: Double)
  /// The host gives no answer; another transfer asks it, from then on.
  case hostOutage(until: Double?)
  /// An attempt failed; the next one is due then.
  case retry(at: Double)
  /// Another transfer comes first; one that is blocked waits until that one is retried.
  case dependency(TransferID, isBlocked: Bool)
  /// There is no room for its file.
  indirect case diskFull(Shortage)
  /// The directory of its file is not there, or another file system is in the place of its own.
  /// - `seen`: the device that was there; nil when nothing was.
  indirect case directoryMissing(String, seen: UInt64?)
  /// This machine has no network.
  case offline
  /// The schedule does not let it run, in these words, until then; nil when it never will.
  indirect case schedule(String, until: Double?)
  /// The queue is suspended.
  case suspended

  /// A file system without room for a file.
  public struct Shortage: Hashable, Sendable {
    /// The number of the file system's device.
    public let device: UInt64
    /// A directory on it.
    public let directory: String
    /// Bytes that the file will still take; 0 when nobody knows.
    public let needed: Int64
    /// Bytes that were free when the file found no room; nil where the file system does not tell.
    public let free: Int64?

    package init(device: UInt64, directory: String, needed: Int64, free: Int64?) {
      self.device = device
      self.directory = directory
      self.needed = needed
      self.free = free
    }
  }

  /// A name for programs, in kebab-case; it never changes.
  public var code: String {
    switch self {
    case .slot: "slot"
    case .hostLimit: "host-limit"
    case .hostBackOff: "host-back-off"
    case .hostOutage: "host-outage"
    case .retry: "retry"
    case .dependency: "dependency"
    case .diskFull: "disk-full"
    case .directoryMissing: "directory-missing"
    case .offline: "offline"
    case .schedule: "schedule"
    case .suspended: "suspended"
    }
  }

  /// When the wait ends by itself, in seconds since 1970; nil where nobody knows.
  public var until: Double? {
    switch self {
    case .hostBackOff(let until), .retry(let until): until
    case .hostOutage(let until), .schedule(_, let until): until
    default: nil
    }
  }

  /// Words for a person; text from outside is not escaped.
  /// - Parameter wallSeconds: the time now, in seconds since 1970, for a wait that counts down.
  public func description(at wallSeconds: Double) -> String {
    switch self {
    case .slot: "all slots are taken"
    case .hostLimit: "the host's limit of transfers is reached"
    case .hostBackOff(let until):
      "the host asked for a pause, \(Self.seconds(until - wallSeconds)) s left"
    case .hostOutage(let until?):
      "the host does not answer; retrying in \(Self.seconds(until - wallSeconds)) s"
    case .hostOutage(nil): "the host does not answer; another transfer is retrying"
    case .retry(let time): "retrying in \(Self.seconds(time - wallSeconds)) s"
    case .dependency(let other, isBlocked: true): "the dependency \(other) was not completed"
    case .dependency(let other, isBlocked: false): "waiting for \(other)"
    case .diskFull(let shortage): shortage.words
    case .directoryMissing(let path, seen: nil): "the directory \(path) is missing"
    case .directoryMissing(let path, seen: .some):
      "the file system of \(path) is not mounted"
    case .offline: "there is no network"
    case .schedule(let words, _): words
    case .suspended: "the queue is suspended"
    }
  }

  /// Rounded up, but for what such numbers of seconds do not hold.
  private static func seconds(_ left: Double) -> Int {
    Int(exactly: min(max(left - 0.001, 0), 1e15).rounded(.up)) ?? 0
  }
}

extension WaitReason.Shortage {
  fileprivate var words: String {
    guard let free else { return "the disk is full" }
    // A quota, or what is kept for the superuser: the number of free bytes says nothing then.
    guard !isDoubtful else { return "the disk refuses more bytes although it reports free space" }
    guard needed > free else { return "the disk is full: \(ByteCount.text(free)) free" }
    let texts = ByteCount.texts(needed, free)
    return "the disk is full: \(texts.1) free, \(texts.0) needed"
  }

  /// Whether the number of free bytes does not explain that there was no room.
  var isDoubtful: Bool {
    guard let free else { return true }
    return free >= needed && free - needed >= WaitMonitor.reserve
  }
}

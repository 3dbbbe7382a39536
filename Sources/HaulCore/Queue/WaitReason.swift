public import FoundationEssentials

/// Why a transfer does not run: one type for the queue, events, summaries, `--json` and the store.
/// Times are seconds since 1970.
public enum WaitReason: Hashable, Sendable {
  /// All slots, or all connections, are taken.
  case slot
  /// The host's limit of transfers or connections is reached.
  case hostLimit
  /// The host refused more at once: until this time it gets no more than it took then.
  case hostRefusal(until: Double)
  /// The host asked for a pause.
  case hostBackOff(until: Double)
  /// The host does not answer. Another transfer retries, or this one does at that time.
  case hostOutage(until: Double?)
  /// An attempt failed; the next one is due at this time.
  case retry(at: Double)
  /// It waits for a dependency. If `isBlocked`, that one must be retried first.
  case dependency(TransferID, isBlocked: Bool)
  /// There is no room for its file on the disk.
  indirect case diskFull(Shortage)
  /// The directory of its file is missing, or another file system is in its place.
  /// - `foundDevice`: the device that was found there; nil if nothing was.
  indirect case directoryMissing(String, foundDevice: UInt64?)
  /// This machine has no network.
  case offline
  /// The host refuses its credentials: it needs others.
  case credentialsRefused
  /// Its start time is in the future.
  case startTime(until: Double)
  /// The schedule is closed until this time, with a text for people; nil if it never opens.
  indirect case schedule(String, until: Double?)
  /// The queue is suspended.
  case suspended
  /// The list could not be stored, and with it the end or the start of this transfer; tried again
  /// every second.
  case listNotStored

  /// A file system without room for a file.
  public struct Shortage: Hashable, Sendable {
    /// The number of the file system's device.
    public let device: UInt64
    /// A directory on it.
    public let directory: String
    /// Bytes that the file still needs; 0 if unknown.
    public let needed: Int64
    /// Bytes that were free then; nil if the file system does not report them.
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
    case .hostRefusal: "host-refusal"
    case .hostBackOff: "host-back-off"
    case .hostOutage: "host-outage"
    case .retry: "retry"
    case .dependency: "dependency"
    case .diskFull: "disk-full"
    case .directoryMissing: "directory-missing"
    case .offline: "offline"
    case .credentialsRefused: "credentials-refused"
    case .startTime: "start-time"
    case .schedule: "schedule"
    case .suspended: "suspended"
    case .listNotStored: "list-not-stored"
    }
  }

  /// When the wait ends by itself; nil if unknown.
  public var until: Date? { untilSeconds.map { Date(timeIntervalSince1970: $0) } }

  /// `until` in seconds since 1970.
  package var untilSeconds: Double? {
    switch self {
    case .hostRefusal(let until), .hostBackOff(let until), .retry(let until),
      .startTime(let until):
      until
    case .hostOutage(let until), .schedule(_, let until): until
    default: nil
    }
  }

  /// A text for people; text from outside is not escaped.
  /// - Parameter time: the present time, to compute what remains.
  public func description(at time: Date) -> String { text(at: time.timeIntervalSince1970) }

  /// The same, at a time in seconds since 1970.
  package func text(at wallSeconds: Double) -> String {
    switch self {
    case .slot: "all slots are taken"
    case .hostLimit: "the host's limit of transfers or connections is reached"
    case .hostRefusal(let until):
      "the host refused more at once, so it gets fewer for \(Self.seconds(until - wallSeconds)) s"
    case .hostBackOff(let until):
      "the host asked for a pause, \(Self.seconds(until - wallSeconds)) s left"
    case .hostOutage(let until?):
      "the host does not answer; retrying in \(Self.seconds(until - wallSeconds)) s"
    case .hostOutage(nil): "the host does not answer; another transfer is retrying"
    case .retry(let time): "retrying in \(Self.seconds(time - wallSeconds)) s"
    case .dependency(let other, isBlocked: true): "the dependency \(other) was not completed"
    case .dependency(let other, isBlocked: false): "waiting for \(other)"
    case .diskFull(let shortage): shortage.text
    case .directoryMissing(let path, foundDevice: nil): "the directory \(path) is missing"
    case .directoryMissing(let path, foundDevice: .some):
      "the file system of \(path) is not mounted"
    case .offline: "there is no network"
    case .credentialsRefused: "the host refuses its credentials"
    case .startTime(let until): "starts at \(Self.time(until))"
    case .schedule(let text, _): text
    case .suspended: "the queue is suspended"
    case .listNotStored: "the list cannot be stored now"
    }
  }

  /// `2026-11-24 22:00 UTC`; a program that knows the time zone has its own words.
  private static func time(_ wallSeconds: Double) -> String {
    let seconds = Int64(exactly: min(max(wallSeconds, 0), 1e11).rounded(.up)) ?? 0
    let date = CivilDate(secondsSince1970: seconds)
    let digits = [date.month, date.day, date.hour, date.minute].map { $0 < 10 ? "0\($0)" : "\($0)" }
    return "\(date.year)-\(digits[0])-\(digits[1]) \(digits[2]):\(digits[3]) UTC"
  }

  /// Rounded up, and limited to numbers that `Int` can hold.
  private static func seconds(_ left: Double) -> Int {
    Int(exactly: min(max(left - 0.001, 0), 1e15).rounded(.up)) ?? 0
  }
}

extension WaitReason.Shortage {
  fileprivate var text: String {
    guard let free else { return "the disk is full" }
    // With a quota, or space reserved for the superuser, the number of free bytes does not help.
    guard !isDoubtful else { return "the disk refuses more bytes although it reports free space" }
    let reserve = ByteCount.text(WaitMonitor.reserve)
    guard needed > 0 else {
      return "the disk is full: \(ByteCount.text(free)) free; \(reserve) stay free for others"
    }
    let texts = ByteCount.texts(needed, free)
    let margin = needed > free ? "" : "; \(reserve) more stay free for others"
    return "the disk is full: \(texts.1) free, \(texts.0) needed\(margin)"
  }

  /// Whether the number of free bytes does not explain the refusal.
  var isDoubtful: Bool {
    guard let free else { return true }
    return free >= needed && free - needed >= WaitMonitor.reserve
  }
}

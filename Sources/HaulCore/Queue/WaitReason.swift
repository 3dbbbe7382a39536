/// Why a transfer that is queued does not run yet: one type, from the queue to what people read.
package enum WaitReason: Hashable, Sendable {
  /// All slots, or all connections, are taken.
  case slot
  /// The host has as many transfers or connections as it may have.
  case hostLimit
  /// The host asked to be left alone.
  case hostBackOff(until: Instant)
  /// The host gives no answer; another transfer asks it, from then on.
  case hostOutage(until: Instant?)
  /// An attempt failed; the next one is due then, in seconds since 1970.
  case retry(at: Double)
  /// Another transfer comes first; one that is blocked waits until that one is retried.
  case dependency(TransferID, isBlocked: Bool)
  case diskFull(Shortage)
  /// The directory of its file is not there, or another file system is in the place of its own.
  /// - `seen`: the device that was there; nil when nothing was.
  case directoryMissing(String, seen: UInt64?)
  case offline
  /// The timetable does not let it run, in these words.
  case schedule(String)
  /// The queue is suspended.
  case suspended

  /// A file system without room for a file.
  package struct Shortage: Hashable, Sendable {
    package let device: UInt64
    /// A directory on it, to ask it by.
    package let directory: String
    /// Bytes that the file will still take; 0 when nobody knows.
    package let needed: Int64
    /// Bytes that were free when the file found no room; nil where the file system does not tell.
    package let free: Int64?

    package init(device: UInt64, directory: String, needed: Int64, free: Int64?) {
      self.device = device
      self.directory = directory
      self.needed = needed
      self.free = free
    }
  }

  /// For a person.
  package func words(at now: Instant, wallSeconds: Double) -> String {
    switch self {
    case .slot: "every slot is taken"
    case .hostLimit: "the host has as many transfers as it may have"
    case .hostBackOff(let until):
      "the host asked to be left alone for \((until - now).components.seconds) s more"
    case .hostOutage(let until?):
      "the host gives no answer; it is asked again in \((until - now).components.seconds + 1) s"
    case .hostOutage(nil): "the host gives no answer; another transfer asks it"
    case .retry(let time):
      "it is tried again in \(Int(max(time - wallSeconds, 0).rounded(.up))) s"
    case .dependency(let other, isBlocked: true): "\(other), which it needs, was not completed"
    case .dependency(let other, isBlocked: false): "it waits for \(other)"
    case .diskFull(let shortage): shortage.words
    case .directoryMissing(let path, seen: nil): "the directory \(path) is not there"
    case .directoryMissing(let path, seen: .some):
      "the file system that \(path) was on is not there"
    case .offline: "there is no network"
    case .schedule(let words): words
    case .suspended: "the queue is suspended"
    }
  }
}

extension WaitReason.Shortage {
  fileprivate var words: String {
    guard let free else { return "the disk is full" }
    // A quota, or what is kept for the superuser: the number of free bytes says nothing then.
    guard !isDoubtful else { return "the disk takes no more, although it tells of free space" }
    guard needed > free else { return "the disk is full: \(ByteCount.text(free)) free" }
    let texts = ByteCount.texts(needed, free)
    return "the disk is full: \(texts.1) free, \(texts.0) needed"
  }

  /// Whether the number of free bytes does not explain that there was no room.
  var isDoubtful: Bool {
    guard let free else { return true }
    return free >= needed && free - needed >= ObstacleWatch.reserve
  }
}

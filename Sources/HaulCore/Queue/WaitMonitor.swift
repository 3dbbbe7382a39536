import OrderedCollections

/// Which transfers wait for a disk, a directory or the network. It does no I/O: it returns what to
/// check and when, takes the answers, and returns which transfers may resume.
package struct WaitMonitor: Sendable {
  /// Bytes that must stay free on a file system that was full before a transfer resumes: room for
  /// journals and for other programs.
  package static let reserve: Int64 = 16 << 20
  /// The time between checks.
  package static let period: Duration = .seconds(5)
  /// The time between attempts, if a check cannot tell whether there is room again.
  package static let tryPeriod: Duration = .seconds(60)

  /// What to check.
  package enum Question: Hashable, Sendable {
    /// How many bytes are free on a file system, seen from a directory on it.
    case room(device: UInt64, directory: String)
    case directory(String)
    case network
  }

  package enum Answer: Hashable, Sendable {
    /// Nil if the file system does not report it.
    case room(free: Int64?)
    /// The directory exists, on this device.
    case directory(device: UInt64)
    /// The directory does not exist.
    case missing
    case network(isUp: Bool)
  }

  package enum Event: Sendable {
    case suspended(TransferID, WaitReason)
    /// It no longer waits: it was paused, has ended, or was told to start.
    case left(TransferID)
    case looked([Question: Answer])
  }

  private struct Waiter: Sendable {
    let reason: WaitReason
    /// When it is tried in any case; nil if a check can tell.
    let tryAt: Instant?
  }

  private var waiters: OrderedDictionary<TransferID, Waiter> = [:]
  /// File systems without room for any file.
  package private(set) var fullDevices: Set<UInt64> = []
  /// When to check again; nil if no transfer waits.
  package private(set) var nextLook: Instant?

  package init() {}

  /// The waiting transfers, in order of arrival.
  package var ids: some Collection<TransferID> & Sendable { waiters.keys }

  /// What to check: each file system once. O(waiting transfers).
  package var questions: [Question] {
    var devices: Set<UInt64> = []
    var questions: OrderedSet<Question> = []
    for waiter in waiters.values {
      switch waiter.reason {
      case .diskFull(let shortage):
        guard devices.insert(shortage.device).inserted else { continue }
        questions.append(.room(device: shortage.device, directory: shortage.directory))
      case .directoryMissing(let path, _): questions.append(.directory(path))
      case .offline: questions.append(.network)
      default: continue
      }
    }
    return Array(questions)
  }

  /// Handles one event and returns which transfers may resume, in order; O(waiting transfers) after
  /// a check.
  package mutating func handle(_ event: Event, at now: Instant) -> [TransferID] {
    defer { if waiters.isEmpty { nextLook = nil } }
    switch event {
    case .suspended(let id, let reason):
      suspend(id, reason, at: now)
      return []
    case .left(let id):
      waiters[id] = nil
      forgetDevices()
      return []
    case .looked(let answers):
      nextLook = now + Self.period
      return release(answers, at: now)
    }
  }

  private mutating func suspend(_ id: TransferID, _ reason: WaitReason, at now: Instant) {
    var tryAt: Instant?
    if case .diskFull(let shortage) = reason {
      if shortage.isDoubtful { tryAt = now + Self.tryPeriod }
      // A transfer that needs more than there is does not stop smaller ones.
      if let free = shortage.free, free < Self.reserve { fullDevices.insert(shortage.device) }
    }
    waiters[id] = Waiter(reason: reason, tryAt: tryAt)
    nextLook = nextLook ?? now + Self.period
  }

  private mutating func release(_ answers: [Question: Answer], at now: Instant) -> [TransferID] {
    var rooms = Rooms(answers)
    fullDevices.subtract(rooms.roomy)
    let free = waiters.filter { mayGoOn($0.value, answers, &rooms, at: now) }.keys
    for id in free { waiters[id] = nil }
    forgetDevices()
    return Array(free)
  }

  private func mayGoOn(
    _ waiter: Waiter, _ answers: [Question: Answer], _ rooms: inout Rooms, at now: Instant
  ) -> Bool {
    switch waiter.reason {
    case .offline: return answers[.network] == .network(isUp: true)
    case .directoryMissing(let path, let seen):
      guard case .directory(let device) = answers[.directory(path)] else { return false }
      return device != seen
    case .diskFull(let shortage):
      if let tryAt = waiter.tryAt, now < tryAt { return false }
      return rooms.take(shortage.needed, of: shortage.device, isTry: waiter.tryAt != nil)
    default: return true
    }
  }

  private mutating func forgetDevices() {
    guard !fullDevices.isEmpty else { return }
    fullDevices.formIntersection(
      waiters.values.compactMap { waiter in
        if case .diskFull(let shortage) = waiter.reason { shortage.device } else { nil }
      })
  }
}

/// Free bytes of file systems, from which each transfer takes what it needs: in order of arrival,
/// but a transfer that fits goes before one that does not.
private struct Rooms {
  private var free: [UInt64: Int64] = [:]
  /// File systems that do not report free space, or are gone: an attempt will tell.
  private var unknown: Set<UInt64> = []
  private(set) var roomy: Set<UInt64> = []

  init(_ answers: [WaitMonitor.Question: WaitMonitor.Answer]) {
    for case (.room(let device, _), let answer) in answers {
      switch answer {
      case .room(free: .some(let bytes)):
        free[device] = bytes
        if bytes >= WaitMonitor.reserve { roomy.insert(device) }
      default:
        unknown.insert(device)
        if answer == .missing { roomy.insert(device) }
      }
    }
  }

  /// Whether that much is left, and the reserve stays free afterwards; takes it if so.
  mutating func take(_ needed: Int64, of device: UInt64, isTry: Bool) -> Bool {
    if unknown.contains(device) { return isTry || roomy.contains(device) }
    guard let left = free[device], left >= needed, left - needed >= WaitMonitor.reserve else {
      return false
    }
    free[device] = left - needed
    return true
  }
}

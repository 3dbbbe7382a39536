import OrderedCollections

/// Who waits until something in the way is gone, and for what. It looks at nothing itself: it says
/// at what to look and when, is told what was seen, and says who may go on.
package struct WaitMonitor: Sendable {
  /// Bytes that stay free on a file system that was full when a transfer goes on: room for journals
  /// and for others.
  package static let reserve: Int64 = 16 << 20
  /// From one look to the next.
  package static let period: Duration = .seconds(5)
  /// From one try to the next, where a look cannot tell whether there is room again.
  package static let tryPeriod: Duration = .seconds(60)

  /// What is looked at.
  package enum Question: Hashable, Sendable {
    /// How many bytes are free on a file system, by way of a directory on it.
    case room(device: UInt64, directory: String)
    case directory(String)
    case network
  }

  package enum Answer: Hashable, Sendable {
    /// Nil where the file system does not tell.
    case room(free: Int64?)
    /// A directory is there, on this device.
    case directory(device: UInt64)
    /// No such directory is there.
    case missing
    case network(isUp: Bool)
  }

  package enum Event: Sendable {
    case suspended(TransferID, WaitReason)
    /// It does not wait any more: it was paused, ended, or told to start.
    case left(TransferID)
    case looked([Question: Answer])
  }

  private struct Waiter: Sendable {
    let reason: WaitReason
    /// When it is tried in any case; nil where a look tells.
    let tryAt: Instant?
  }

  private var waiters: OrderedDictionary<TransferID, Waiter> = [:]
  /// File systems that have no room for anybody.
  package private(set) var fullDevices: Set<UInt64> = []
  /// When to look again; nil when nobody waits.
  package private(set) var nextLook: Instant?

  package init() {}

  /// Those who wait, in the order in which they came.
  package var ids: some Collection<TransferID> & Sendable { waiters.keys }

  /// What to look at: each file system once. O(those who wait).
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

  /// Takes one event in and says who may go on, in order; O(those who wait) after a look.
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
      // One that needs more than there is keeps nobody else away.
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

/// Free bytes of file systems, of which each takes what it needs: the first come first, and who
/// needs less than is left goes before who needs more.
private struct Rooms {
  private var free: [UInt64: Int64] = [:]
  /// Those that do not tell, or are gone: who tries will see.
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

  /// Whether so much is left, and more than the reserve is afterwards; it is taken then.
  mutating func take(_ needed: Int64, of device: UInt64, isTry: Bool) -> Bool {
    if unknown.contains(device) { return isTry || roomy.contains(device) }
    guard let left = free[device], left >= needed, left - needed >= WaitMonitor.reserve else {
      return false
    }
    free[device] = left - needed
    return true
  }
}

import OrderedCollections

/// Which transfers wait for a disk, a directory, the network or credentials. It does no I/O: it
/// returns what to check and when, takes the results, and returns which transfers may resume.
package struct WaitMonitor: Sendable {
  /// Bytes that must stay free on a file system that was full, for journals and other programs,
  /// before several transfers resume. One may use them: a small file system never has so many.
  package static let reserve: Int64 = 16 << 20
  /// The time between checks.
  package static let period: Duration = .seconds(5)
  /// The time between attempts if a check cannot show whether there is room.
  package static let tryPeriod: Duration = .seconds(60)

  /// The time between two reports of the same wait.
  package static let reportPeriod: Duration = .seconds(3600)

  /// What to check.
  package enum Check: Hashable, Sendable {
    /// How many bytes are free on a file system, seen from a directory on it.
    case room(device: UInt64, directory: String)
    case directory(String)
    case network
    /// Which transfers have credentials that are not known to be refused.
    case credentials
  }

  package enum CheckResult: Hashable, Sendable {
    /// Nil if the file system does not report it.
    case room(free: Int64?)
    /// The directory exists, on this device.
    case directory(device: UInt64)
    /// The directory does not exist.
    case missing
    case network(isUp: Bool)
    case credentials(free: Set<TransferID>)
  }

  package enum Event: Sendable {
    case suspended(TransferID, WaitReason)
    /// It no longer waits: it was paused, has ended, or a command starts it.
    case left(TransferID)
    case checked([Check: CheckResult])
  }

  private struct Waiter: Sendable {
    let reason: WaitReason
    /// The time of an attempt if a check cannot show whether there is room.
    let tryAt: Instant
    /// When its wait is reported again.
    var reportAt: Instant
  }

  private var waiters: OrderedDictionary<TransferID, Waiter> = [:]
  /// File systems without room for any file.
  package private(set) var fullDevices: Set<UInt64> = []
  /// The free bytes of full file systems, as far as the last check found them.
  private var freeBytes: [UInt64: Int64] = [:]
  /// When to check again; nil if no transfer waits.
  package private(set) var nextCheck: Instant?

  package init() {}

  /// The waiting transfers, in order of arrival.
  package var ids: some Collection<TransferID> & Sendable { waiters.keys }

  /// What to check; each file system once. O(waiting transfers).
  package var checks: [Check] {
    var devices: Set<UInt64> = []
    var checks: OrderedSet<Check> = []
    for waiter in waiters.values {
      switch waiter.reason {
      case .diskFull(let shortage):
        guard devices.insert(shortage.device).inserted else { continue }
        checks.append(.room(device: shortage.device, directory: shortage.directory))
      case .directoryMissing(let path, _): checks.append(.directory(path))
      case .offline: checks.append(.network)
      case .credentialsRefused: checks.append(.credentials)
      default: continue
      }
    }
    return Array(checks)
  }

  /// A reason with the free bytes that the last check found; unchanged if they do not explain it.
  package func updated(_ reason: WaitReason) -> WaitReason {
    guard case .diskFull(let shortage) = reason, !shortage.isDoubtful,
      let free = freeBytes[shortage.device]
    else { return reason }
    let now = WaitReason.Shortage(
      device: shortage.device, directory: shortage.directory, needed: shortage.needed, free: free)
    return now.isDoubtful ? reason : .diskFull(now)
  }

  /// Handles one event and returns which transfers may resume, in order; O(waiting transfers) after
  /// a check.
  package mutating func handle(_ event: Event, at now: Instant) -> [TransferID] {
    defer { if waiters.isEmpty { (nextCheck, freeBytes) = (nil, [:]) } }
    switch event {
    case .suspended(let id, let reason):
      suspend(id, reason, at: now)
      return []
    case .left(let id):
      waiters[id] = nil
      forgetDevices()
      return []
    case .checked(let results):
      nextCheck = now + Self.period
      return release(results, at: now)
    }
  }

  /// The waits that must be reported again, with their reasons.
  package mutating func longWaits(at now: Instant) -> [(id: TransferID, reason: WaitReason)] {
    waiters.filter { now >= $0.value.reportAt }.map { id, waiter in
      waiters[id]?.reportAt = now + Self.reportPeriod
      return (id, updated(waiter.reason))
    }
  }

  private mutating func suspend(_ id: TransferID, _ reason: WaitReason, at now: Instant) {
    if case .diskFull(let shortage) = reason {
      // A transfer without enough room does not stop smaller ones.
      if let free = shortage.free, free < Self.reserve { fullDevices.insert(shortage.device) }
    }
    waiters[id] = Waiter(
      reason: reason, tryAt: now + Self.tryPeriod, reportAt: now + Self.reportPeriod)
    nextCheck = nextCheck ?? now + Self.period
  }

  private mutating func release(_ results: [Check: CheckResult], at now: Instant) -> [TransferID] {
    var rooms = FreeSpace(results)
    freeBytes = rooms.free
    let free = waiters.filter { canResume($0.key, $0.value, results, &rooms, at: now) }.keys
    fullDevices.subtract(rooms.devicesWithRoom)
    for id in free { waiters[id] = nil }
    forgetDevices()
    return Array(free)
  }

  private func canResume(
    _ id: TransferID, _ waiter: Waiter, _ results: [Check: CheckResult],
    _ rooms: inout FreeSpace, at now: Instant
  ) -> Bool {
    switch waiter.reason {
    case .offline: return results[.network] == .network(isUp: true)
    case .credentialsRefused:
      guard case .credentials(let free) = results[.credentials] else { return false }
      return free.contains(id)
    case .directoryMissing(let path, let seen):
      guard case .directory(let device) = results[.directory(path)] else { return false }
      return device != seen
    case .diskFull(let shortage):
      let isDue = now >= waiter.tryAt
      guard isDue || !shortage.isDoubtful else { return false }
      return rooms.take(shortage.needed, of: shortage.device, isTry: isDue)
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

/// Free bytes of file systems. Each transfer takes what it needs, in order of arrival; one that
/// does not fit is skipped.
private struct FreeSpace {
  private(set) var free: [UInt64: Int64] = [:]
  /// File systems that do not report free space or are gone: only an attempt shows it.
  private var unknown: Set<UInt64> = []
  private(set) var devicesWithRoom: Set<UInt64> = []
  /// File systems on which a transfer may use the reserve.
  private var belowReserve: Set<UInt64> = []

  init(_ results: [WaitMonitor.Check: WaitMonitor.CheckResult]) {
    for case (.room(let device, _), let result) in results {
      switch result {
      case .room(free: .some(let bytes)):
        free[device] = bytes
        if bytes >= WaitMonitor.reserve { devicesWithRoom.insert(device) }
      default:
        unknown.insert(device)
        if result == .missing { devicesWithRoom.insert(device) }
      }
    }
  }

  /// Takes this many bytes if they are free; returns whether it did. One transfer may leave less
  /// than the reserve, if it is known to fit or if it is time for an attempt.
  mutating func take(_ needed: Int64, of device: UInt64, isTry: Bool) -> Bool {
    if unknown.contains(device) { return isTry || devicesWithRoom.contains(device) }
    guard let left = free[device], left >= needed, left > 0 else { return false }
    if left - needed < WaitMonitor.reserve {
      guard needed > 0 || isTry, belowReserve.insert(device).inserted else { return false }
      devicesWithRoom.insert(device)
    }
    free[device] = left - needed
    return true
  }
}

import HaulCore
import HaulKit

/// What holds whenever nothing can happen before time passes, and no command is in progress.
extension Ledger {
  mutating func checkAtRest(
    _ live: [TransferSummary], isSuspended: Bool, at now: Instant, wallSeconds: Double
  ) {
    checkList(live)
    checkReasons(live)
    checkLimitsLowered()
    checkStartTimes(wallSeconds: wallSeconds)
    let openState = schedule?.openState(at: now, wallSeconds: wallSeconds) ?? .open
    if !isSuspended, openState == .open { checkNobodyStarves(at: now, wallSeconds: wallSeconds) }
    if openState == .closed { checkNothingRuns(at: now) }
    if isSuspended, wasSuspended { checkNothingStarted() }
    wasSuspended = isSuspended
    for id in members.keys {
      members[id]?.wasReady = false
      guard let member = members[id] else { continue }
      let waits =
        member.state == .queued && isReady(member) == true && isDue(member, at: wallSeconds)
      members[id]?.waited = waits
      members[id]?.isRearranged = false
    }
    noteReady()
  }

  /// Whether it waits neither for its next attempt nor for something such as a full disk. Whether
  /// such waits end is checked at the end.
  private func isDue(_ member: Member, at wallSeconds: Double) -> Bool {
    // A member that waits uses the other clock.
    let times = [member.storedState.retryAt, member.storedState.pendingStartTime].compactMap(\.self)
    if schedule?.wasSet == true, !times.isEmpty { return false }
    // Seconds since 1970 are exact only to a part of a microsecond.
    return !member.hasWaitReason && times.allSatisfy { $0 + 0.02 <= wallSeconds }
  }

  /// Checks that nothing is asked of a host before the end of a pause that was stored.
  mutating func checkStoredPause(_ host: String, wallSeconds: Double) {
    guard schedule?.wasSet != true, let until = storedPauses[host], until > wallSeconds + 0.001
    else { return }
    violate("\(host) was asked \(until - wallSeconds) s before the end of its pause")
  }

  /// Checks that nothing runs before its start time, unless it was ordered to start.
  private mutating func checkStartTimes(wallSeconds: Double) {
    // With another time, the manager may have seen its start time pass.
    guard schedule?.wasSet != true else { return }
    for member in listed where member.state.isUnderWay && !member.startsAnytime {
      guard let time = member.request.startSeconds, time > wallSeconds + 0.001 else { continue }
      violate("\(member.name) runs \(time - wallSeconds) s before its time")
    }
  }

  /// Checks that stored and live state agree, and that no member is lost.
  private mutating func checkList(_ live: [TransferSummary]) {
    // While a transfer stops to be requeued, the store has it as running.
    let stopping = Set(live.filter { $0.state == .stopping }.map(\.id))
    let wanted = listed.map { member in
      let isRequeueRequested =
        (member.isRequeueRequested || schedule != nil) && stopping.contains(member.id)
        && member.state == .running
      return "\(member.name) \(isRequeueRequested ? .stopping : member.state.summary)"
    }
    // A running member without a slot waits for one, for its next attempt, or for the disk.
    let running = Set(listed.filter { $0.state == .running }.map(\.id))
    let found = live.map { summary in
      let hasNoSlot =
        summary.state == .publishing || summary.state == .queued && summary.waitReason != nil
      let state = hasNoSlot && running.contains(summary.id) ? .running : summary.state
      return "\(name(summary.id)) \(state)"
    }
    if wanted != found { violate("stored: \(wanted), live: \(found)") }
  }

  /// Checks that a queued member has a wait reason, and that a paused or ended one has none.
  private mutating func checkReasons(_ live: [TransferSummary]) {
    for summary in live {
      let reason = summary.waitReason
      if summary.state == .queued, reason == nil {
        violate("\(name(summary.id)) waits for nothing")
      }
      if summary.state != .queued, summary.state != .running, let reason {
        violate("\(name(summary.id)) is \(summary.state) and waits: \(reason)")
      }
    }
  }

  /// Notes whether the transfers that ran before a limit was lowered have ended, as far as can be
  /// seen.
  private mutating func checkLimitsLowered() {
    let running = members.values.filter { $0.state.isUnderWay }
    if running.count <= limits.active { limits.formerActive = limits.active }
    let hosts = Dictionary(grouping: running.compactMap(\.host)) { $0 }
    if hosts.values.allSatisfy({ $0.count <= limits.activePerHost }) {
      limits.formerPerHost = limits.activePerHost
    }
  }

  /// Checks that every member that may run, with a free slot and a host that accepts it, runs.
  private mutating func checkNobodyStarves(at now: Instant, wallSeconds: Double) {
    // A fetch whose answer has ended still has a slot and a connection.
    let open = Array(fetches.values) + Array(idle.values)
    let active = active.union(open.map(\.member)).compactMap { members[$0] }
    guard active.count < limits.active, open.count < limits.connections else { return }
    for member in listed
    where member.state == .queued && isReady(member) == true && isDue(member, at: wallSeconds) {
      if let host = member.host {
        let ofHost = active.count { $0.host == host }
        let isSilent = silentSince[host].map { now < $0 + Self.longestWaitForHost }
        if isSilent == true { continue }
        let isTaken =
          ofHost >= (hostsThatRefused.contains(host) || isSilent != nil ? 1 : limits.activePerHost)
          || open.count { $0.host == host }
            >= (hostsThatRefused.contains(host) ? 1 : limits.connectionsPerHost)
        if isTaken || pauses[host].map({ $0 > now }) == true { continue }
        if storedPauses[host].map({ $0 + 0.02 > wallSeconds }) == true { continue }
      }
      violate("\(member.name) waits, and \(active.map(\.name).sorted()) run of \(limits.active)")
    }
  }

  /// The longest time after which a host that does not answer is asked again.
  private static let longestWaitForHost: Duration = .seconds(60)

  private mutating func checkNothingStarted() {
    for member in listed where member.waited && member.state.isUnderWay && !member.isForced {
      violate("\(member.name) began while the queue is suspended")
    }
  }
}

extension ModelState {
  fileprivate var summary: TransferState {
    switch self {
    case .queued: .queued
    case .running: .running
    case .stopping, .gone: .stopping
    case .paused: .paused
    case .failed: .failed
    case .completed: .completed
    case .cancelled: .cancelled
    }
  }
}

import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers

/// The end of the world: without further faults, all transfers end as they must.
extension QueueWorld {
  func finish() {
    isHarmless = true
    stepPlans.withLockedValue { plans in
      for name in plans.keys { plans[name]?.failsOneIn = nil }
    }
    machine.crash(afterChanges: nil)
    reset()
    rest()
    if isSuspended { toggle() }
    if times != nil { setTimes(.always) }
    setLimits(active: 2, perHost: 2)
    passTime(.seconds(5))
    let before = checks
    for command in [TransferMachine.Command.resume, .retry] where !isBroken {
      send(command, .all, "all, in the end")
      runOut()
    }
    guard !isBroken else { return }
    let isUnseen = checks == before
    ledger.withLockedValue { ledger in
      // In a world with pending calls nothing is checked; a call that is pending while nothing runs
      // is pending for ever.
      ledger.checkReturned("though nothing runs")
      if isUnseen { ledger.violate("nobody looked at the world in the end") }
    }
    guard !isBroken else { return }
    checkFates()
    shutDown()
  }

  /// Runs until nothing runs and nothing can start.
  private func runOut() {
    let isEmpty = NIOLockedValueBox(false)
    passTime(.milliseconds(10))
    process.start { [manager] in
      await manager.waitUntilEmpty()
      isEmpty.withLockedValue { $0 = true }
    }
    // Times of next attempts are stored by the wall clock: if it was ahead, the wait is longer
    // (seed 19214).
    let wasSet = ledger.withLockedValue { $0.schedule?.wasSet ?? false }
    // A server has 48 s to its first byte, and five minutes to answer once it has a whole file.
    for _ in 0..<(wasSet ? 2000 : uploads == nil ? 300 : 700) {
      guard passTime(.seconds(1)) else { return }
      let isOver = ledger.withLockedValue { $0.isOver }
      if isOver, isEmpty.withLockedValue({ $0 }) { break }
    }
    rest()
    ledger.withLockedValue { ledger in
      if !ledger.isOver {
        let left = ledger.listed.filter { $0.state.isUnderWay || $0.state == .queued }
        ledger.violate("no end comes: \(left.map { "\($0.name) \($0.state)" })")
      } else if !isEmpty.withLockedValue({ $0 }) {
        ledger.violate("nothing runs, and who waits for that does not learn it")
      }
    }
  }

  /// Checks that files of completed downloads are whole.
  func checkFiles() {
    let completed = ledger.withLockedValue { $0.listed.filter { $0.state == .completed } }
    for member in completed where seen.insert(member.id).inserted {
      if member.request.upload != nil { checkObject(of: member) }
      guard let download = member.request.download, let resource = servers[member.name],
        download.durability == .strict || !hasLostPower
      else { continue }
      let name = String(member.path?.split(separator: "/").last ?? "")
      let wanted = resource.content.bytes(at: 0, count: Int(resource.length))
      if machine.contents(of: name, in: Self.directory) != wanted {
        ledger.withLockedValue { $0.violate("\(member.name) is completed, and its file is not") }
      }
    }
  }

  private func checkFates() {
    seen = []
    checkFiles()
    ledger.withLockedValue { ledger in
      for member in ledger.listed {
        guard let fate = fate(of: member, ledger), fate != member.state else { continue }
        ledger.violate("\(member.name) is \(member.state) in the end, in place of \(fate)")
      }
    }
  }

  /// The end that a member must have without faults; nil if that is not known.
  private func fate(of member: Ledger.Member, _ ledger: Ledger) -> ModelState? {
    var waits = false
    // It may have started while its dependency was completed.
    for case .transfer(let id) in member.request.dependencies where member.state != .completed {
      guard let other = ledger.members[id] else {
        if ledger.cleared.contains(id) { continue }
        return nil
      }
      guard let fate = fate(of: other, ledger) else { return nil }
      switch (fate, member.request.whenDependencyFails) {
      case (.completed, _), (.failed, .run): continue
      // A failed dependency counts before one that has not ended.
      case (.failed, .skip): return .failed
      default: waits = true
      }
    }
    if waits { return .queued }
    if member.host == nil {
      let fails = stepPlans.withLockedValue { $0[member.name]?.alwaysFails == true }
      return fails ? .failed : .completed
    }
    // After a power cut, a relaxed file is not known to be Haul's.
    if hasLostPower, member.request.download?.durability == .relaxed { return nil }
    return servers[member.name]?.isMissing == true ? .failed : .completed
  }

  private func shutDown() {
    ledger.withLockedValue { $0.isClosing = true }
    let isOver = NIOLockedValueBox(false)
    process.start { [manager] in
      await manager.shutdown()
      isOver.withLockedValue { $0 = true }
    }
    // Slow readers continue to read.
    passTime(.seconds(300))
    ledger.withLockedValue { ledger in
      if !isOver.withLockedValue({ $0 }) { ledger.violate("shutdown does not return") }
      ledger.checkReturned("after the shutdown")
      if !ledger.fetches.isEmpty { ledger.violate("connections are left: \(ledger.fetches)") }
    }
    for subscriber in subscribers {
      subscriber.checkComplete()
      if !subscriber.hasEnded {
        ledger.withLockedValue { $0.violate("subscriber \(subscriber.number) received no end") }
      }
    }
    if process.clock.sleeperCount > 0 || !executor.isIdle {
      ledger.withLockedValue { $0.violate("something runs after the shutdown") }
    }
  }
}

extension Ledger {
  /// Whether nothing runs and nothing can start.
  fileprivate var isOver: Bool {
    members.values.allSatisfy { member in
      !member.state.isUnderWay && (member.state != .queued || isReady(member) != true)
    }
  }
}

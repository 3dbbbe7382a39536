import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers

/// The actions in the world, one after the other.
extension QueueWorld {
  func step() throws {
    if faults?.oneIn(5) == true { causeFault() }
    if times?.oneIn(4) == true { changeTimes() }
    changeSource()
    for _ in 0..<(random.oneIn(4) ? 2 : 1) { try act() }
    switch random.below(4) {
    case 0: for _ in 0..<random.below(40) where !process.isDead { _ = executor.runOne() }
    case 1: rest()
    default:
      passTime(.milliseconds(random.below(1500)))
      rest()
    }
    if process.isDead { crash(random.oneIn(2)) }
  }

  private func act() throws {
    let count = ledger.withLockedValue { $0.members.count }
    switch random.below(100) {
    case 0..<30 where count < plan.members: try add()
    case 0..<62: command()
    case 62..<67: setLimits(active: 1 + random.below(3), perHost: 1 + random.below(2))
    case 67..<73: toggle()
    case 73..<80: move()
    case 80..<84: setPriority()
    case 84..<87: subscribe(isSlow: random.oneIn(2))
    case 87..<90: addAgain()
    case 90..<93: reset()
    case 93..<97 where plan.crashes: prepareCrash()
    default: break
    }
  }

  private func prepareCrash() {
    switch random.below(4) {
    case 0: crash(true)
    case 1: crash(false)
    case 2: process.store.behaviours.changesUntilCrash = 1 + random.below(6)
    default: machine.crash(afterChanges: 1 + random.below(40))
    }
  }

  private func someone() -> TransferID? {
    let ids = ledger.withLockedValue { $0.listed.map(\.id) }
    return ids.isEmpty ? nil : ids[random.below(ids.count)]
  }

  private func command() {
    let commands: [TransferMachine.Command] = [
      .pause, .pause, .pause, .resume, .resume, .resume, .requeue, .cancel, .cancelKeepingBytes,
      .retry, .retry, .restart, .remove, .start, .force,
    ]
    let command = commands[random.below(commands.count)]
    switch random.below(12) {
    case 0 where command != .remove: send(command, .all, "all")
    case 1 where command != .remove:
      let group = "g\(random.below(2))"
      send(command, .group(group), group)
    default:
      guard let id = someone() else { return }
      send(command, .ids([id]), ledger.withLockedValue { $0.name(id) })
    }
  }

  func send(
    _ command: TransferMachine.Command, _ selection: TransferSelection, _ text: String
  ) {
    let (ids, group) = selection.parts
    let number = ledger.withLockedValue { $0.sent(command, ids, group, "\(command) \(text)") }
    let (process, ledger) = (process, ledger)
    process.start {
      do throws(TransferError) {
        let report = try await process.manager.carryOut(command, selection)
        // The result of a dead process does not count.
        if process.isDead { return }
        ledger.withLockedValue { $0.returned(number, refused: report.refused) }
      } catch {
        if process.isDead { return }
        ledger.withLockedValue { $0.threw(number, error) }
      }
    }
  }

  /// - Parameter work: may throw `io`.
  func call(_ text: String, _ work: @escaping @Sendable (TransferManager) async throws -> Void) {
    let number = ledger.withLockedValue { $0.called(text) }
    let (process, ledger) = (process, ledger)
    process.start {
      do {
        try await work(process.manager)
        if process.isDead { return }
        ledger.withLockedValue { _ = $0.answered(number) }
      } catch {
        if process.isDead { return }
        let isRefusal = (error as? TransferError)?.code == .io
        ledger.withLockedValue { ledger in
          guard ledger.answered(number, "threw"), !isRefusal else { return }
          ledger.violate("\(text) threw \(error)")
        }
      }
    }
  }

  func setLimits(active: Int, perHost: Int) {
    guard !isUnderWay("limits") else { return }
    ledger.withLockedValue { $0.setLimits(active: active, perHost: perHost) }
    call("limits") { await $0.setLimits(maximumActive: active, maximumActivePerHost: perHost) }
  }

  /// Whether such a call has not returned: of two, the second may be carried out first.
  private func isUnderWay(_ text: String) -> Bool {
    ledger.withLockedValue { $0.calls.values.contains { $0.hasSuffix(text) } }
  }

  func toggle() {
    guard !isUnderWay("suspend") else { return }
    isSuspended.toggle()
    ledger.withLockedValue { $0.wasSuspended = false }
    let isSuspended = isSuspended
    call(isSuspended ? "suspend" : "unsuspend") { manager in
      if isSuspended { await manager.suspend() } else { await manager.unsuspend() }
    }
  }

  private func move() {
    guard let id = someone(), let other = someone() else { return }
    let positions: [QueuePosition] = [.first, .last, .before(other), .after(other)]
    let position = positions[random.below(positions.count)]
    let (name, ledger) = (ledger.withLockedValue { $0.name(id) }, ledger)
    ledger.withLockedValue { $0.moves += 1 }
    let process = process
    call("move \(name)") { manager in
      defer { if !process.isDead { ledger.withLockedValue { $0.moves -= 1 } } }
      _ = try await manager.move([id], to: position)
    }
  }

  private func setPriority() {
    guard let id = someone() else { return }
    let priority = TransferRequest.Priority.allCases[
      random.below(TransferRequest.Priority.allCases.count)]
    let name = ledger.withLockedValue { $0.name(id) }
    call("priority \(priority) of \(name)") { manager in
      _ = try await manager.setPriority(priority, of: .ids([id]))
    }
  }
}

extension TransferSelection {
  fileprivate var parts: (ids: Set<TransferID>?, group: String?) {
    switch kind {
    case .ids(let ids): (Set(ids), nil)
    case .group(let group): (nil, group)
    case .all, .filter, .several: (nil, nil)
    }
  }
}

extension TransferManager {
  func carryOut(
    _ command: TransferMachine.Command, _ selection: TransferSelection
  ) async throws(TransferError) -> CommandReport {
    switch command {
    case .pause: try await pause(selection)
    case .resume: try await resume(selection)
    case .requeue: try await requeue(selection)
    case .cancel: try await cancel(selection)
    case .cancelKeepingBytes: try await cancel(selection, keepingBytes: true)
    case .retry: try await retry(selection)
    case .restart: try await restart(selection)
    case .remove: try await remove(selection)
    case .start: try await start(selection)
    case .force: try await start(selection, force: true)
    }
  }
}

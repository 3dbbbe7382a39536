import HaulCore

/// Commands from sending to return: each result must have been true at some time in between.
extension Ledger {
  mutating func sent(
    _ command: TransferMachine.Command, _ ids: Set<TransferID>?, _ group: String?, _ text: String
  ) -> Int {
    lastOrder += 1
    let order = Order(number: lastOrder, command: command, ids: ids, group: group, sent: changes)
    orders[lastOrder] = order
    for id in members.keys { note(order, of: id) }
    note("sent \(lastOrder): \(text)")
    return lastOrder
  }

  mutating func returned(_ number: Int, refused: [TransferID: CommandRefusal]) {
    guard let order = orders.removeValue(forKey: number) else { return }
    let text = refused.map { "\(name($0)) \($1)" }.sorted().joined(separator: ", ")
    note("returned \(number)\(text.isEmpty ? "" : ", refused: \(text)")")
    // Only the manager knows the members of a group, or all.
    for id in order.ids?.sorted() ?? [] {
      check(order, id, refused[id])
      if refused[id] == nil { acknowledged(order, of: id) }
    }
  }

  mutating func threw(_ number: Int, _ error: TransferError) {
    guard orders.removeValue(forKey: number) != nil else { return }
    note("threw \(number): \(error.code.rawValue)")
    if error.code != .io { violate("command \(number) threw \(error)") }
  }

  /// Notes what a command may mean for a member, until the member is at rest.
  mutating func note(_ order: Order, of id: TransferID) {
    guard let member = members[id], order.covers(member) else { return }
    if order.requestsRequeue(member) { members[id]?.isRequeueRequested = true }
    if order.discards { members[id]?.discards += 1 }
    if order.command == .force { members[id]?.isForced = true }
    if [.force, .start].contains(order.command) {
      members[id]?.isStartRequested = true
      members[id]?.startsAnytime = true
    }
  }

  /// Whether a command that has not returned may make it forget what it has.
  func isDiscarding(_ member: Member) -> Bool {
    orders.values.contains { $0.discards && $0.covers(member) }
  }

  /// A returned command to start a member that only it has changed since holds from now on.
  private mutating func acknowledged(_ order: Order, of id: TransferID) {
    guard [.force, .start].contains(order.command), members[id]?.state == .queued,
      // A pause after it takes it back.
      states(of: id, since: order.sent).drop(while: { $0 == .paused })
        .allSatisfy({ $0 == .queued }),
      !orders.values.contains(where: { $0.covers(id, in: self) })
    else { return }
    members[id]?.goesFirst = true
    if members[id]?.storedState.startRequest == nil {
      violate("\(order.command) of \(name(id)) has returned and is not stored")
    }
  }

  mutating func called(_ text: String) -> Int {
    lastOrder += 1
    calls[lastOrder] = text
    note("called \(lastOrder): \(text)")
    return lastOrder
  }

  /// False if the called process has died.
  @discardableResult
  mutating func answered(_ number: Int, _ text: String = "done") -> Bool {
    guard calls.removeValue(forKey: number) != nil else { return false }
    note("answered \(number): \(text)")
    return true
  }

  /// Checks that all calls have returned. Those that a crash cut off are already removed.
  mutating func checkReturned(_ when: String) {
    for number in orders.keys.sorted() {
      guard let order = orders[number] else { continue }
      violate("command \(number), \(order.command), does not return \(when)")
    }
    for number in calls.keys.sorted() {
      violate("call \(number), \(calls[number] ?? ""), does not return \(when)")
    }
  }

  private mutating func check(_ order: Order, _ id: TransferID, _ refusal: CommandRefusal?) {
    let (states, command) = (states(of: id, since: order.sent), order.command)
    let possible = states.contains { state in
      state.live.contains { live in
        [true, false].contains { hasRun in
          switch live.outcome(command, hasRun: hasRun) {
          case .refused(let why): refusal == why
          case .unchanged: refusal == nil
          case .becomes(let next): refusal == nil && states.contains(next.stored)
          }
        }
      }
    }
    let reported = refusal.map { "refused as \($0)" } ?? "not refused"
    if !possible { violate("\(command) of \(name(id)) was \(reported), which was \(states)") }
  }

  /// Its stages since so many changes were stored.
  private func states(of id: TransferID, since change: Int) -> [ModelState] {
    let all = history[id] ?? [(0, .gone)]
    let first = all.lastIndex { $0.change <= change } ?? 0
    return all[first...].map(\.state)
  }
}

extension Ledger.Order {
  func covers(_ member: Ledger.Member) -> Bool {
    ids?.contains(member.id) ?? (group == nil || group == member.request.group)
  }

  func covers(_ id: TransferID, in ledger: Ledger) -> Bool {
    ledger.members[id].map(covers) ?? false
  }

  /// Whether the command makes an upload begin anew.
  var discards: Bool { [.cancel, .cancelKeepingBytes, .restart, .remove].contains(command) }

  /// Whether the command may requeue a running member.
  func requestsRequeue(_ member: Ledger.Member) -> Bool {
    switch command {
    case .requeue, .restart, .resume, .start, .force: covers(member)
    default: false
    }
  }
}

extension ModelState {
  /// The stages that the manager may show while this is stored: a start is decided before it is
  /// stored.
  var live: [ModelState] {
    switch self {
    case .queued: [.queued, .running]
    case .running: [.running, .stopping(.requeue)]
    default: [self]
    }
  }
}

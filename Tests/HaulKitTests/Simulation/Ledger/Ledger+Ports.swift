import HaulCore

/// What the transport and the steps report while it happens.
extension Ledger {
  mutating func opened(_ number: UInt64, for id: TransferID?, host: String, _ text: String) {
    guard let id, let member = members[id] else {
      return violate("a request for what is not in the list: \(text)")
    }
    note("asks \(number): \(text)")
    checkRunning(member)
    let isFirst = !fetches.values.contains { $0.member == id }
    fetches[number] = Fetch(member: id, host: host)
    if isFirst { checkActive(member) }
    let ofHost = fetches.values.count { $0.host == host }
    if ofHost > limits.connectionsPerHost {
      violate("\(ofHost) connections to \(host), \(limits.connectionsPerHost) are allowed")
    }
    if fetches.count > limits.connections {
      violate("\(fetches.count) connections, \(limits.connections) are allowed")
    }
  }

  mutating func closed(_ number: UInt64) {
    guard let fetch = fetches.removeValue(forKey: number) else { return }
    idle[number] = fetch
    note("closed \(number)")
  }

  mutating func letGo(_ number: UInt64) {
    closed(number)
    idle[number] = nil
  }

  /// A run of a download has begun.
  mutating func began(_ id: TransferID) {
    guard let member = members[id] else { return violate("\(name(id)) runs and is not there") }
    checkRunning(member)
    noteStart(id)
  }

  mutating func stepBegan(_ id: TransferID) {
    guard let member = members[id] else { return violate("a step runs that is not there") }
    note("runs \(member.name)")
    checkRunning(member)
    if !steps.insert(id).inserted { violate("\(member.name) runs twice at the same time") }
    noteStart(id)
    checkActive(member)
  }

  mutating func stepEnded(_ id: TransferID, _ text: String) {
    guard steps.remove(id) != nil else { return }
    note("ends \(name(id)) \(text)")
  }

  private mutating func noteStart(_ id: TransferID) {
    members[id]?.starts += 1
    guard let member = members[id], member.starts > 1 else { return }
    if !member.mayBeginAgain { violate("\(member.name) began twice") }
    members[id]?.starts = 1
    members[id]?.mayBeginAgain = false
  }

  private mutating func checkRunning(_ member: Member) {
    if !member.state.isUnderWay { violate("\(member.name) runs and is \(member.state)") }
  }

  /// The members that have a connection or a running step.
  var active: Set<TransferID> { Set(fetches.values.map(\.member)).union(steps) }

  private mutating func checkActive(_ member: Member) {
    let active = active.compactMap { members[$0] }
    let forced = active.count { $0.isForced }
    let most = max(limits.active, limits.formerActive)
    if active.count > most + forced {
      violate("\(active.count) run, \(most) are allowed and \(forced) forced")
    }
    guard let host = member.host else { return }
    let ofHost = active.filter { $0.host == host }
    let mostOfHost = max(limits.activePerHost, limits.formerPerHost)
    if ofHost.count > mostOfHost + ofHost.count(where: { $0.isForced }) {
      violate("\(ofHost.count) run from \(host), \(mostOfHost) are allowed")
    }
  }

  mutating func setLimits(active: Int, perHost: Int) {
    limits.formerActive = max(limits.active, limits.formerActive)
    limits.formerPerHost = max(limits.activePerHost, limits.formerPerHost)
    (limits.active, limits.activePerHost) = (active, perHost)
    note("limits \(active), \(perHost)")
  }
}

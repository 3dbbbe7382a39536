import HaulCore
import Testing

/// A decision is a value: the queue changes only when it is applied.
@Suite struct DraftTests {
  private static let url = try? ResourceURL("http://h.example/f")

  /// Two queues with the same inputs: one is changed in place, the other by decisions, some of
  /// which are refused.
  private struct ReferenceQueuePair {
    var inPlace = QueueMachine()
    var decided = QueueMachine()
    var dice: SplitMix64
    var ids: [TransferID] = []
    /// The request of each, as stored.
    var requests: [TransferID: TransferRequest] = [:]
    var refusals = 0

    /// The visible state of a queue.
    struct ListSnapshot: Equatable {
      let members: [TransferSummary]
      let standings: [StoredState]
      let groups: [String: GroupProgress.Counts]
      let numbers: [Int]
      let displaced: [Bool]
      let owners: [TransferID?]

      init(_ queue: QueueMachine, _ ids: [TransferID]) {
        members = ids.compactMap { id in
          queue.members[id].map { TransferSummary($0, waitReason: queue.waitReason(of: id)) }
        }
        standings = ids.compactMap { queue.members[$0]?.storedState }
        groups = Dictionary(
          queue.groups.names.compactMap { name in queue.groups.counts(of: name).map { (name, $0) }
          },
          uniquingKeysWith: { $1 })
        numbers = [
          queue.outstandingCount, queue.lastEvent, queue.members.values.count, queue.members.queued,
        ]
        displaced = ids.map { queue.isDisplaced($0) }
        owners = (0..<6).map { queue.id(of: "name \($0)") }
      }
    }

    mutating func step() throws {
      let input = input()
      let before = ListSnapshot(decided, ids)
      var decision = QueueDecision()
      do {
        try decided.decide(&decision) { (queue, decision) throws(TransferError) in
          try input(&queue, &decision)
        }
      } catch {
        // The queue itself refused it.
        #expect(ListSnapshot(decided, ids) == before)
        return
      }
      #expect(ListSnapshot(decided, ids) == before, "a decision alone changes nothing")
      if dice.next() % 4 == 0 {
        refusals += 1
        return
      }
      decided.apply(decision)
      for update in decision.change.updated {
        if let request = update.request { requests[update.id] = request }
      }
      var other = QueueDecision()
      try input(&inPlace, &other)
      #expect(other.effects == decision.effects)
      #expect(other.events == decision.events)
      #expect(ListSnapshot(decided, ids) == ListSnapshot(inPlace, ids))
    }

    private typealias Input = (inout QueueMachine, inout QueueDecision) throws(TransferError) ->
      Void

    private mutating func input() -> Input {
      let some = (0..<(1 + pick(3))).compactMap { _ in ids.isEmpty ? nil : ids[pick(ids.count)] }
      switch pick(10) {
      case 0, 1: return addition()
      case 2, 3:
        let command = TransferMachine.Command.allCases[pick(TransferMachine.Command.allCases.count)]
        // The consequences of a portion that is not the last are in a later decision.
        let isLast = pick(3) > 0
        return { (queue, decision) throws(TransferError) in
          _ = queue.handle(command, some, by: .user, isLast: isLast, &decision)
        }
      case 8: return edit()
      case 9:
        let isLast = pick(2) == 0
        return { (queue, decision) throws(TransferError) in
          queue.recover(some, at: 0, stillRunning: Set(some.prefix(1)), isLast: isLast, &decision)
        }
      case 4:
        return { (queue, decision) throws(TransferError) in
          for id in some { _ = queue.granted(id, &decision) }
        }
      case 5:
        let end = TransferMachine.RunEndKind.allCases[pick(4)]
        return { (queue, decision) throws(TransferError) in
          for id in some { queue.ended(id, end, nil, by: .disk, &decision) }
        }
      case 6:
        return { (queue, decision) throws(TransferError) in
          for id in some { queue.suspended(id, .offline, &decision) }
        }
      default:
        let other = some.first
        return { (queue, decision) throws(TransferError) in
          for id in some { queue.waitEnded(id, &decision) }
          queue.move(Array(some.dropFirst()), to: other.map { .after($0) } ?? .first, &decision)
        }
      }
    }

    private mutating func addition() -> Input {
      let new = TransferID(using: &dice)
      var request = TransferRequest.step("step")
      if pick(2) == 0, let url { request = .download(url, to: .file("/d/file \(pick(4))")) }
      if pick(3) == 0 { request.identifier = "name \(pick(6))" }
      if pick(2) == 0 { request.group = "group \(pick(2))" }
      if !ids.isEmpty, pick(2) == 0 { request.after = [ids[pick(ids.count)]] }
      request.whenDependencyFails = TransferRequest.DependencyPolicy.allCases[pick(3)]
      ids.append(new)
      requests[new] = request
      return { [request] (queue, decision) throws(TransferError) in
        try queue.add([.init(id: new, request: request, target: nil)], &decision)
      }
    }

    /// Another request for a member of the list, if it may be changed.
    private mutating func edit() -> Input {
      guard !ids.isEmpty else { return { (_, _) throws(TransferError) in } }
      let (id, other) = (ids[pick(ids.count)], ids[pick(ids.count)])
      guard let old = requests[id] else { return { (_, _) throws(TransferError) in } }
      var new = old
      new.priority =
        TransferRequest.Priority.allCases[pick(TransferRequest.Priority.allCases.count)]
      if pick(2) == 0 { new.after = pick(3) == 0 ? [] : [other] }
      new.whenDependencyFails = TransferRequest.DependencyPolicy.allCases[pick(3)]
      if pick(2) == 0 {
        new.download?.destination = .file("/d/file \(pick(4))")
        if let url = try? ResourceURL("http://h\(pick(3)).example/f") { new.download?.url = url }
      }
      return { [new] (queue, decision) throws(TransferError) in
        // As stored: the record has the member's state in the list.
        guard let member = queue.members[id] else { return }
        var record = TransferRecord(id: id, request: old)
        record.storedState = member.storedState
        _ = try queue.set(new, of: record, names: (nil, nil), mayHaveBytes: false, &decision)
      }
    }

    private mutating func pick(_ count: Int) -> Int { Int(dice.next() % UInt64(count)) }
  }

  @Test(arguments: 1...20)
  func `Applied decisions equal changes in place, and refused decisions change nothing`(
    seed: UInt64
  ) throws {
    var twins = ReferenceQueuePair(dice: SplitMix64(seed: seed))
    for _ in 0..<150 { try twins.step() }
    #expect(twins.refusals > 10)
  }
}

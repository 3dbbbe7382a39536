import HaulCore
import Testing

/// What follows for others from what happens to one.
@Suite struct QueueMachineTests {
  private typealias Effect = QueueDecision.Effect

  /// Two members, the second after the first.
  private struct Chain {
    var queue = QueueMachine()
    let first: TransferID
    let second: TransferID

    init() throws {
      var generator = SplitMix64(seed: 5)
      first = TransferID(using: &generator)
      second = TransferID(using: &generator)
      var requests = [TransferRequest.step("first"), .step("second")]
      requests[1].after = [.transfer(first)]
      let additions = zip([first, second], requests).map {
        QueueMachine.Addition(id: $0, request: $1, target: nil)
      }
      var decision = QueueDecision()
      try queue.add(additions, &decision)
    }

    /// Runs one to its end.
    mutating func finish(_ id: TransferID, _ end: TransferMachine.RunEnd) -> [Effect] {
      #expect(queue.granted(id) != nil)
      var decision = QueueDecision()
      queue.ended(id, end, nil, by: .user, &decision)
      return decision.effects
    }
  }

  @Test func `One that waits for another takes no slot, and is scheduled when that is completed`()
    throws
  {
    var chain = try Chain()
    #expect(chain.queue.granted(chain.second) == nil)
    #expect(chain.finish(chain.first, .completed).contains(.schedule(chain.second)))
    #expect(chain.queue.granted(chain.second) != nil)
  }

  @Test func `A slot that comes when it waits for another again is not taken`() throws {
    var chain = try Chain()
    _ = chain.finish(chain.first, .completed)
    var decision = QueueDecision()
    _ = chain.queue.handle(.restart, [chain.first], by: .user, &decision)
    // The scheduler does not know yet.
    #expect(decision.effects.contains(.unschedule(chain.second)))
    #expect(chain.queue.granted(chain.second) == nil)
  }
}

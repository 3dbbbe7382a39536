import HaulCore
import Testing

@Suite("A host that gives no answer: who loses an attempt, and who waits for the turn to ask")
struct HostOutageMachineTests {
  private static let refused = TransferError(.connect, "refused", isRetryable: true)

  private func fail(_ script: inout MachineScript, _ id: Int, _ error: TransferError) -> [String] {
    script.send(.failed(SegmentID(number: id), error))
  }

  private func other() -> HostHealth {
    var health = HostHealth()
    health.failures = 3
    health.isOthersTurn = true
    return health
  }

  @Test(
    "The transfer that finds it loses an attempt, and the others learn of it",
    arguments: [.dns, .connect, .proxy, .timeout, .stalled, .connectionLost]
      as [TransferError.Code])
  func first(code: TransferError.Code) throws {
    var script = try MachineScript()
    _ = script.start()
    check(
      fail(&script, 1, TransferError(code, "no answer", isRetryable: true)),
      is: ["host failed", "wake retry", "attempt 1", "leave"])
    check(script.send(.timer(.retry)), is: ["enter"])
  }

  @Test("While another is to ask, it waits for its turn as often as it takes, and loses no attempt")
  func others() throws {
    var script = try MachineScript { $0.retry.retries = 0 }
    _ = script.start()
    for id in 1...20 {
      script.machine.host = other()
      check(fail(&script, id, Self.refused), is: ["leave", "enter"])
      check(script.send(.slotGranted), is: ["open \(id + 1) 0-"])
    }
    script.machine.host = HostHealth()
    check(fail(&script, 21, Self.refused), is: ["host failed", "failed connect"])
  }

  @Test("Of several connections that are lost at once, the last finds out")
  func several() throws {
    var script = try MachineScript.withTwo()
    _ = try script.range(2, 51, 99)
    _ = script.deliver(2)
    script.machine.host = other()
    check(script.lose(1), is: ["wake retry", "attempt 1", "release"])
    check(script.lose(2), is: ["leave"])
    check(script.send(.timer(.retry)), is: ["enter"])
    check(script.send(.slotGranted), is: ["open 3 1-50 if"])
    check(fail(&script, 3, Self.refused), is: ["leave", "enter"])
  }

  @Test("A lost body, an answer, and what a redirect led to say nothing of it")
  func answered() throws {
    var script = try MachineScript()
    _ = script.start()
    script.machine.host = other()
    check(fail(&script, 1, Self.refused.ofRedirect), is: ["wake retry", "attempt 1", "leave"])
    var lost = try MachineScript.running()
    lost.machine.host = other()
    check(lost.lose(1), is: ["wake retry", "attempt 1", "leave"])
    var busy = try MachineScript()
    _ = busy.start()
    busy.machine.host = other()
    #expect(try busy.answer(1, 503).contains("attempt 1"))
  }

  @Test("Where a person waits, two retries in vain end it and the others' waiting")
  func attended() throws {
    var script = try MachineScript { $0.isAttended = true }
    _ = script.start()
    script.machine.host.failures = 2
    script.machine.host.since = script.now
    check(fail(&script, 1, Self.refused), is: ["host given up", "failed connect"])
    // It has answered somebody.
    var later = try MachineScript { $0.isAttended = true }
    _ = later.start()
    later.machine.host.failures = 2
    later.machine.host.since = later.now
    later.machine.host.hasAnswered = true
    check(
      fail(&later, 1, Self.refused), is: ["host failed", "wake retry", "attempt 1", "leave"])
  }

  @Test("A stream whose reader has bytes ends when nothing can go on with them")
  func stream() throws {
    var script = try MachineScript { $0.isStream = true }
    script.plan = SegmentPlan(window: StreamWindow(size: 1000, connections: 1))
    _ = script.start()
    script.machine.host = other()
    check(fail(&script, 1, Self.refused), is: ["leave", "enter"])
  }
}

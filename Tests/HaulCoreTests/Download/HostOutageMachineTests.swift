import HaulCore
import Testing

/// A host that does not answer: attempts, and turns to ask.
@Suite
struct HostOutageMachineTests {
  private static let refused = TransferError(.connect, "refused", isRetryable: true)

  private func fail(_ script: inout MachineScript, _ id: Int, _ error: TransferError) -> [String] {
    script.send(.failed(SegmentID(number: id), error))
  }

  private func other() -> HostHealth {
    var health = HostHealth()
    health.failures = 3
    health.isTrialOfAnotherTransfer = true
    return health
  }

  @Test(
    arguments: [.dns, .connect, .proxy, .timeout, .stalled, .connectionLost]
      as [TransferError.Code])
  func `The transfer that detects it counts an attempt, and the others are informed`(
    code: TransferError.Code
  ) throws {
    var script = try MachineScript()
    _ = script.start()
    check(
      fail(&script, 1, TransferError(code, "no answer", isRetryable: true)),
      is: ["host failed", "wake retry", "attempt 1", "leave"])
    check(script.send(.timer(.retry)), is: ["enter"])
  }

  @Test
  func `Each silent attempt gives the next one twice the time to its first byte, 32 times at most`()
    throws
  {
    var script = try MachineScript()
    _ = script.start()
    for (id, patience) in zip(1..., [2, 4, 8, 16, 32, 32]) {
      _ = fail(&script, id, TransferError(.stalled, "no bytes", isRetryable: true))
      _ = script.send(.timer(.retry))
      let opened = script.send(.slotGranted)
      #expect(opened.contains { $0.hasPrefix("open \(id + 1)") }, "\(opened)")
      #expect(script.machine.patience(of: SegmentID(number: id + 1)) == patience)
    }
    let last = SegmentID(number: 7)
    _ = try script.whole(7)
    #expect(script.machine.patience(of: last) == 32, "the head may come before the file is made")
    _ = script.deliver(7)
    #expect(script.machine.patience(of: last) == 4, "what broke off is asked for anew sooner")
  }

  @Test func `An attempt that was answered, or refused, gives the next one no more time`() throws {
    var script = try MachineScript()
    _ = script.start()
    for id in 1...6 {
      if id % 2 == 0 { _ = fail(&script, id, Self.refused) } else { _ = try script.answer(id, 503) }
      _ = script.send(.timer(.retry))
      _ = script.send(.slotGranted)
      #expect(script.machine.patience(of: SegmentID(number: id + 1)) == 1)
    }
  }

  @Test func `During the turn of another it waits as often as needed, without an attempt`() throws {
    var script = try MachineScript { $0.request.retry.retries = 0 }
    _ = script.start()
    for id in 1...20 {
      script.surroundings.hostHealth = other()
      check(fail(&script, id, Self.refused), is: ["leave", "enter"])
      check(script.send(.slotGranted), is: ["open \(id + 1) 0-"])
    }
    script.surroundings.hostHealth = HostHealth()
    check(fail(&script, 21, Self.refused), is: ["host failed", "failed connect"])
  }

  @Test func `If several connections are lost at once, the last one detects the outage`() throws {
    var script = try MachineScript.withTwo()
    _ = try script.range(2, 51, 99)
    _ = script.deliver(2)
    script.surroundings.hostHealth = other()
    check(script.lose(1), is: ["wake retry", "attempt 1", "release"])
    check(script.lose(2), is: ["leave"])
    check(script.send(.timer(.retry)), is: ["enter"])
    check(script.send(.slotGranted), is: ["open 3 1-50 if"])
    check(fail(&script, 3, Self.refused), is: ["leave", "enter"])
  }

  @Test func `A lost body, an answer, and a redirect target are no sign of an outage`() throws {
    var script = try MachineScript()
    _ = script.start()
    script.surroundings.hostHealth = other()
    check(fail(&script, 1, Self.refused.ofRedirect), is: ["wake retry", "attempt 1", "leave"])
    var lost = try MachineScript.running()
    lost.surroundings.hostHealth = other()
    check(lost.lose(1), is: ["wake retry", "attempt 1", "leave"])
    var busy = try MachineScript()
    _ = busy.start()
    busy.surroundings.hostHealth = other()
    #expect(try busy.answer(1, 503).contains("attempt 1"))
  }

  @Test func `If a person waits, two failed retries end it and the waits of the others`() throws {
    var script = try MachineScript { $0.isAttended = true }
    _ = script.start()
    script.surroundings.hostHealth.failures = 2
    script.surroundings.hostHealth.since = script.now
    check(fail(&script, 1, Self.refused), is: ["host given up", "failed connect"])
    // The host has answered another transfer.
    var later = try MachineScript { $0.isAttended = true }
    _ = later.start()
    later.surroundings.hostHealth.failures = 2
    later.surroundings.hostHealth.since = later.now
    later.surroundings.hostHealth.hasAnswered = true
    check(
      fail(&later, 1, Self.refused), is: ["host failed", "wake retry", "attempt 1", "leave"])
  }

  @Test func `A stream whose reader has bytes ends when it cannot resume`() throws {
    var script = try MachineScript { $0.request.destination = .stream }
    script.plan = SegmentPlan(window: StreamWindow(size: 1000, connections: 1))
    _ = script.start()
    script.surroundings.hostHealth = other()
    check(fail(&script, 1, Self.refused), is: ["leave", "enter"])
  }
}

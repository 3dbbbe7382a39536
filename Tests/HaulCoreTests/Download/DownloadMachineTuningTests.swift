import HaulCore
import Testing

/// A download keeps useful connections, and does not wait for slow ones.
@Suite
struct DownloadMachineTuningTests {
  /// Two working connections of a file of 4,000,000 bytes: 1 from the start, 2 from the middle.
  private func two(
    _ change: (inout DownloadMachine.Rules) -> Void = { _ in }
  ) throws -> MachineScript {
    var script = try MachineScript {
      $0.request.connections = 2
      $0.request.minimumSplit = 1_999_999
      change(&$0)
    }
    _ = script.start()
    _ = try script.range(1, 0, 3_999_999, of: 4_000_000)
    _ = script.deliver(1)
    check(script.send(.connectionGranted), is: ["open 2 2000001-3999999 if"])
    _ = try script.range(2, 2_000_001, 3_999_999, of: 4_000_000)
    _ = script.deliver(2)
    return script
  }

  /// Lets so many tenths of a second pass, in each of which these connections write so much;
  /// returns the commands without repeats.
  private func pass(
    _ tenths: Int, _ script: inout MachineScript, writing amounts: [Int: Int]
  ) -> [String] {
    var said: [String] = []
    for _ in 0..<tenths {
      script.now = script.now + .milliseconds(100)
      for (id, amount) in amounts { script.write(id, amount) }
      said += script.send(.measured).filter { !said.contains($0) }
    }
    return said
  }

  @Test
  func `A lost connection resumes at once while another delivers, without an attempt`() throws {
    var script = try two()
    script.write(2, 300_000)
    check(script.lose(2), is: ["resume", "open 3 2300002-3999999 if"])
  }

  @Test func `A lost connection that brought little waits, like after every failure`() throws {
    var script = try two()
    script.write(2, 200_000)
    check(script.lose(2), is: ["wake retry", "attempt 1", "release"])
  }

  @Test func `The last lost connection also waits: nothing shows that the server works`() throws {
    var script = try two()
    script.write(1, 300_000)
    script.write(2, 300_000)
    check(script.lose(2), is: ["resume", "open 3 2300002-3999999 if"])
    check(script.lose(3), is: ["wake retry", "attempt 1", "release"])
    check(script.lose(1), is: ["leave"])
  }

  @Test func `A reset of as many connections as the server has served before is no limit`() throws {
    var script = try two()
    script.write(2, 300_000)
    _ = script.lose(2)
    check(script.lose(3), is: ["wake retry", "attempt 1", "release"])
    _ = script.send(.timer(.retry))
    check(script.send(.connectionGranted), is: ["open 4 2300002-3999999 if"])
  }

  /// The first connection has finished, and a third fetches the rest of the second, which is
  /// silent.
  private func hedged() throws -> MachineScript {
    var script = try two()
    _ = pass(8, &script, writing: [1: 150_000])
    script.write(1, 800_000)
    check(script.end(1), is: ["open 3 2000002-3999999 if"])
    _ = try script.range(3, 2_000_002, 3_999_999, of: 4_000_000)
    _ = script.deliver(3)
    return script
  }

  @Test
  func `An idle connection fetches the rest of a silent one; the first to finish ends both`() throws
  {
    var script = try hedged()
    script.write(3, 1_999_997)
    check(script.end(3), is: ["stop 2"])
    check(script.stopped(2), is: ["publishing", "publish 4000000"])
  }

  @Test
  func `A silent connection delays nothing, even if the others were too short to be measured`()
    throws
  {
    var script = try two()
    script.now = script.now + .milliseconds(200)
    script.write(1, 2_000_000)
    check(script.end(1), is: ["release"])
    let said = pass(12, &script, writing: [:])
    #expect(said == ["request"])
    check(script.send(.connectionGranted), is: ["open 3 2000002-3999999 if"])
  }

  @Test
  func `A silent connection delays nothing, even if every one was silent when measured`() throws {
    var script = try two()
    _ = pass(8, &script, writing: [:])
    script.write(1, 2_000_000)
    check(script.end(1), is: ["open 3 2000002-3999999 if"])
  }

  @Test func `If the straggler finishes first, the other one ends`() throws {
    var script = try hedged()
    script.write(2, 1_999_998)
    check(script.end(2), is: ["stop 3"])
    // Its connection is lost while it is being stopped: no failure.
    check(script.lose(3), is: ["publishing", "publish 4000000"])
  }

  @Test func `A connection far slower than the others is replaced, less and less often`() throws {
    var script = try MachineScript { $0.request.connections = 4 }
    _ = script.start()
    _ = try script.range(1, 0, 999_999, of: 1_000_000)
    _ = script.deliver(1)
    _ = script.send(.connectionGranted)
    for id in 2...4 {
      let segment = try #require(script.plan.segments[SegmentID(number: id)])
      _ = try script.range(id, Int(segment.next), Int(segment.end) - 1, of: 1_000_000)
      _ = script.deliver(id)
      _ = script.send(.connectionGranted)
    }
    let said = pass(12, &script, writing: [1: 10_000, 2: 10_000, 3: 10_000, 4: 10])
    #expect(said.contains("stop 4"), "\(said)")
    let again = script.stopped(4)
    #expect(again.first?.hasPrefix("open 5") == true, "\(again)")
  }

  @Test func `A second connection without gain is stopped, and the reason reported`() throws {
    var script = try two { $0.request.minimumSplit = 10 }
    let said = pass(20, &script, writing: [1: 10_000, 2: 10_000])
    #expect(said == ["stop 2"])
    check(script.stopped(2), is: ["release"])
    let later = pass(40, &script, writing: [1: 20_000])
    #expect(later == ["settled 1 no-gain"])
  }

  /// Like `two`, and under a rate limit from now on.
  private func limited(
    _ change: (inout DownloadMachine.Rules) -> Void = { _ in }
  ) throws -> MachineScript {
    var script = try two(change)
    script.surroundings.isRateLimited = true
    return script
  }

  private func holdBack(_ ids: [Int], _ script: inout MachineScript) {
    script.surroundings.heldBack = Set(ids.map { SegmentID(number: $0) })
  }

  @Test
  func `While the rate limit holds bytes back, no connection is opened, stopped or judged`() throws
  {
    var script = try limited { $0.request.minimumSplit = 10 }
    holdBack([1, 2], &script)
    let said = pass(60, &script, writing: [1: 10_000, 2: 10])
    #expect(said.isEmpty, "\(said)")
    // One ends: the other keeps its rest, of which much may have arrived already.
    script.write(1, 1_400_000)
    check(script.end(1), is: ["release"])
    holdBack([2], &script)
    let later = pass(20, &script, writing: [2: 10_000])
    #expect(later.isEmpty, "\(later)")
  }

  @Test
  func `The first bytes under a limit open no more connections; a network slower than it does`()
    throws
  {
    var script = try MachineScript { $0.request.connections = 2 }
    script.surroundings.isRateLimited = true
    _ = script.start()
    _ = try script.range(1, 0, 999_999, of: 1_000_000)
    check(script.deliver(1), is: [])
    holdBack([1], &script)
    check(script.send(.measured), is: [])
    holdBack([], &script)
    #expect(script.send(.measured).contains("request"))
  }

  @Test func `A connection that is silent under a rate limit delays nothing`() throws {
    var script = try limited()
    holdBack([1], &script)
    let said = pass(20, &script, writing: [1: 10_000])
    #expect(said.isEmpty, "\(said)")
    script.write(1, 1_800_000)
    check(script.end(1), is: ["release"])
    holdBack([], &script)
    check(script.send(.measured), is: ["request"])
    check(script.send(.connectionGranted), is: ["open 3 2000002-3999999 if"])
  }

  @Test func `Bytes that nobody fetches are fetched, whatever the limit holds back`() throws {
    var script = try limited()
    holdBack([1], &script)
    script.write(2, 300_000)
    check(script.lose(2), is: ["resume", "open 3 2300002-3999999 if"])
  }

  @Test func `The remembered number of the host is used from the first bytes on`() throws {
    var script = try MachineScript { $0.rememberedConnections = 3 }
    _ = script.start()
    _ = try script.range(1, 0, 99)
    check(script.deliver(1), is: ["settled 3 remembered", "request", "request"])
  }
}

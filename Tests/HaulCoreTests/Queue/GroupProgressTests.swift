import HaulCore
import Testing

@Suite struct GroupProgressTests {
  @Test func `A group completes once, when its last member ends in any way`() {
    var tally = GroupProgress()
    for _ in 0..<3 { tally.added("g") }
    check(tally.ended("g", .completed), is: false)
    check(tally.ended("g", .cancelled), is: false)
    check(tally.ended("g", .failed), is: true)
    check(tally.ended("g", .completed), is: false)
    #expect(tally.counts(of: "g")?.members == 3)
    #expect(tally.counts(of: "g")?.ended == 3)
    #expect(tally.counts(of: "g")?.completed == 1)
    #expect(tally.counts(of: "g")?.failed == 1)
    #expect(tally.counts(of: "g")?.cancelled == 1)
    #expect(tally.counts(of: "g")?.isComplete == true)
  }

  @Test func `Adding a member reopens a completed group`() {
    var tally = GroupProgress()
    tally.added("g")
    check(tally.ended("g", .completed), is: true)
    tally.added("g")
    #expect(tally.counts(of: "g")?.isComplete == false)
    check(tally.ended("g", .completed), is: true)
  }

  @Test func `Requeuing a member reopens a completed group`() {
    var tally = GroupProgress()
    for _ in 0..<2 { tally.added("g") }
    check(tally.ended("g", .failed), is: false)
    check(tally.ended("g", .completed), is: true)
    tally.requeued("g", from: .failed)
    #expect(tally.counts(of: "g")?.ended == 1)
    check(tally.ended("g", .completed), is: true)
    #expect(tally.counts(of: "g")?.failed == 0)
  }

  @Test func `Removing the last unfinished member completes the group`() {
    var tally = GroupProgress()
    for _ in 0..<3 { tally.added("g") }
    check(tally.ended("g", .completed), is: false)
    check(tally.removed("g", nil), is: false)
    check(tally.removed("g", nil), is: true)
    #expect(tally.counts(of: "g")?.members == 1)
    check(tally.removed("g", .completed), is: false)
    #expect(tally.counts(of: "g") == nil)
    #expect(tally.names == [])
  }

  @Test func `Removing ended members completes the group neither twice nor too early`() {
    var tally = GroupProgress()
    for _ in 0..<3 { tally.added("g") }
    check(tally.ended("g", .failed), is: false)
    check(tally.removed("g", .failed), is: false)
    check(tally.ended("g", .completed), is: false)
    check(tally.ended("g", .completed), is: true)
    check(tally.removed("g", .completed), is: false)
    #expect(tally.counts(of: "g")?.isComplete == true)
  }

  @Test func `A group is not reported as complete if no member ever ended`() {
    var tally = GroupProgress()
    tally.added("g")
    check(tally.removed("g", nil), is: false)
    #expect(tally.counts(of: "g") == nil)
    check(tally.ended("g", .completed), is: false)
    tally.requeued("g", from: .completed)
    #expect(tally.counts(of: "g") == nil)
  }

  @Test func `Groups are counted independently`() {
    var tally = GroupProgress()
    for group in ["b", "a", "a"] { tally.added(group) }
    check(tally.ended("b", .cancelled), is: true)
    #expect(tally.counts(of: "a")?.ended == 0)
    #expect(tally.names == ["a", "b"])
  }

  /// Checks each member separately. A group was reported if it was complete and has not been
  /// reopened.
  @Test func `Random walks agree with a plain list of members`() {
    for seed in UInt64(1)...60 {
      var walk = GroupProgressRandomSequence(seed: seed)
      guard walk.run(steps: 200) else {
        Issue.record("the walk with seed \(seed) went astray")
        return
      }
    }
  }
}

/// A seeded walk of the counts and a plain list, compared.
private struct GroupProgressRandomSequence {
  private struct Member {
    let group: String
    var state: TransferResult.State?
  }

  private var generator: SplitMix64
  private var tally = GroupProgress()
  private var members: [Member] = []

  init(seed: UInt64) { generator = SplitMix64(seed: seed) }

  mutating func run(steps: Int) -> Bool {
    for _ in 0..<steps where !step() || !agrees() { return false }
    return true
  }

  private func isComplete(_ group: String) -> Bool {
    let states = members.filter { $0.group == group }.map(\.state)
    return !states.isEmpty && !states.contains(nil)
  }

  private func agrees() -> Bool {
    tally.names == Set(members.map(\.group)).sorted()
      && tally.names.allSatisfy { name in
        let group = members.filter { $0.group == name }
        guard let counts = tally.counts(of: name) else { return false }
        return counts.members == group.count && counts.isComplete == isComplete(name)
          && counts.completed == group.count { $0.state == .completed }
          && counts.failed == group.count { $0.state == .failed }
          && counts.cancelled == group.count { $0.state == .cancelled }
      }
  }

  private mutating func step() -> Bool {
    let states: [TransferResult.State] = [.completed, .failed, .cancelled]
    let action = generator.next() % 8
    guard action > 1, let index = members.indices.randomElement(using: &generator) else {
      let group = "g\(generator.next() % 3)"
      tally.added(group)
      members.append(Member(group: group))
      return true
    }
    let (group, state) = (members[index].group, members[index].state)
    let wasComplete = isComplete(group)
    switch (action, state) {
    case (2...4, nil):
      guard let end = states.randomElement(using: &generator) else { return false }
      members[index].state = end
      return tally.ended(group, end) == isComplete(group)
    case (5, let end?):
      tally.requeued(group, from: end)
      members[index].state = nil
      return true
    case (6, _):
      members.remove(at: index)
      return tally.removed(group, state) == (!wasComplete && isComplete(group))
    default: return true
    }
  }
}

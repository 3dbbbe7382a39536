import HaulCache
import HaulCore
import HaulTesting
import NIOConcurrencyHelpers
import Testing

@Suite struct SlotStateTests {
  private enum Step { case load(cached: Bool), result(Int), cancel }

  /// Runs steps and returns which load's result was shown, in order.
  private func shown(_ steps: [Step]) -> [(load: Int, current: Int?)] {
    var state = SlotState()
    var generations: [SlotState.Generation] = []
    var current: Int?
    var shown: [(Int, Int?)] = []
    for step in steps {
      switch step {
      case .load(let cached):
        generations.append(state.begin(isLoaded: cached))
        current = generations.count - 1
      case .result(let load):
        guard load < generations.count else { continue }
        if state.accepts(generations[load]) { shown.append((load, current)) }
      case .cancel:
        state.cancel()
        current = nil
      }
    }
    return shown
  }

  @Test func `a hundred thousand random orders never show another load's result, nor one twice`() {
    var random = SeededRandom(11)
    var wrong = 0
    var total = 0
    for _ in 0..<100_000 {
      let steps = (0..<12).map { _ -> Step in
        switch random.next() % 6 {
        case 0, 1: .load(cached: random.next() % 4 == 0)
        case 2: .cancel
        default: .result(Int(random.next() % 5))
        }
      }
      let results = shown(steps)
      total += results.count
      if results.contains(where: { $0.load != $0.current }) { wrong += 1 }
      if Set(results.map(\.load)).count != results.count { wrong += 1 }
    }
    #expect(wrong == 0)
    #expect(total > 30_000)
  }
}

/// The real slot over a real cache, whose server answers when the test says.
@MainActor @Suite struct ResourceSlotTests {
  private enum Step: CaseIterable { case loadA, loadB, answerA, answerB, cancel }

  /// All orders in which an answer follows its load.
  private static var interleavings: [[Step]] {
    func orders(_ rest: [Step]) -> [[Step]] {
      rest.isEmpty
        ? [[]]
        : rest.indices.flatMap { index in
          var others = rest
          let first = others.remove(at: index)
          return orders(others).map { [first] + $0 }
        }
    }
    return orders(Step.allCases).filter { order in
      func place(_ step: Step) -> Int { order.firstIndex(of: step) ?? -1 }
      return place(.loadA) < place(.answerA) && place(.loadB) < place(.answerB)
    }
  }

  private func describe(_ content: ResourceSlot<String>.Content) -> String {
    switch content {
    case .placeholder: "placeholder"
    case .value(let value): value
    case .failure: "failure"
    }
  }

  /// Runs one order and returns what each load delivered.
  private func run(_ order: [Step], failing: Bool) async throws -> (a: [String], b: [String]) {
    let fixture = Fixture()
    fixture.fetcher.hold()
    fixture.fetcher.answer { request, _ throws(TransferError) in
      if failing { throw offline() }
      return fixture.clock.response(200, [:], request.url.path)
    }
    let slot = ResourceSlot<String>()
    let shown = NIOLockedValueBox<[String: [String]]>([:])
    /// Another subscriber, so that the request goes on and its answer arrives late.
    func load(_ path: String) async throws -> Task<String?, Never> {
      let url = try fixture.url(path)
      let keeper = Task { try? await fixture.cache.value(for: url) }
      await fixture.fetcher.waitForRequests(fixture.fetcher.requests.count + 1)
      slot.load(url, from: fixture.cache) { content in
        let text = self.describe(content)
        shown.withLockedValue { $0[path, default: []].append(text) }
      }
      await settle()
      return keeper
    }
    var numbers: [Step: Int] = [:]
    var keepers: [Step: Task<String?, Never>] = [:]
    for step in order {
      switch step {
      case .loadA, .loadB:
        let isA = step == .loadA
        numbers[isA ? .answerA : .answerB] = numbers.count + 1
        keepers[isA ? .answerA : .answerB] = try await load(isA ? "/a" : "/b")
      case .answerA, .answerB:
        fixture.fetcher.release(numbers[step])
        _ = await keepers[step]?.value
        await settle()
      case .cancel: slot.cancel()
      }
    }
    await settle()
    let result = shown.withLockedValue { $0 }
    return (result["/a"] ?? [], result["/b"] ?? [])
  }

  /// Lets the main actor run what waits for it.
  private func settle() async { for _ in 0..<20 { await Task.yield() } }

  @Test(arguments: [false, true])
  func `two loads and a cancel, in every order, show only what the slot still wants`(failing: Bool)
    async throws
  {
    #expect(Self.interleavings.count == 30)
    for order in Self.interleavings {
      let (a, b) = try await run(order, failing: failing)
      func place(_ step: Step) -> Int { order.firstIndex(of: step) ?? -1 }
      func expected(_ load: Step, _ answer: Step, _ other: Step, _ value: String) -> [String] {
        let isVoid = [other, .cancel].contains {
          place(load) < place($0) && place($0) < place(answer)
        }
        return ["placeholder"] + (isVoid ? [] : [failing ? "failure" : value])
      }
      #expect(a == expected(.loadA, .answerA, .loadB, "/a"), "\(order)")
      #expect(b == expected(.loadB, .answerB, .loadA, "/b"), "\(order)")
    }
  }

  @Test func `a value in memory is shown at once, without a placeholder`() async throws {
    let fixture = Fixture()
    let url = try fixture.url()
    _ = try await fixture.cache.value(for: url)
    let slot = ResourceSlot<String>()
    var shown: [String] = []
    slot.load(url, from: fixture.cache) { shown.append(self.describe($0)) }
    #expect(shown == ["/a 1"])
    #expect(!slot.isLoading)
  }

  @Test func `a stale copy is shown at once, from memory or disk, and then what the server says`()
    async throws
  {
    for isOnDisk in [false, true] {
      let directory = try TemporaryDirectory()
      let first = Fixture(directory: directory.path)
      let url = try first.url()
      _ = try await first.cache.value(for: url)
      await first.cache.flush()
      let cache =
        isOnDisk ? Fixture.cache(first.fetcher, first.clock, directory.path) : first.cache
      first.clock.advance(by: .seconds(100))
      first.fetcher.hold()
      let slot = ResourceSlot<String>()
      var shown: [String] = []
      slot.load(url, from: cache) { shown.append(self.describe($0)) }
      await first.fetcher.waitForRequests(2)
      await settle()
      #expect(shown == (isOnDisk ? ["placeholder", "/a 1"] : ["/a 1"]))
      #expect(slot.isLoading)
      first.fetcher.release()
      try await until { !slot.isLoading }
      #expect(shown.last == "/a 2")
    }
  }

  @Test func `a copy that must be validated is not shown before it was`() async throws {
    let fixture = Fixture(headers: ["Cache-Control": "max-age=60, must-revalidate"])
    let url = try fixture.url()
    _ = try await fixture.cache.value(for: url)
    fixture.clock.advance(by: .seconds(100))
    fixture.fetcher.hold()
    let slot = ResourceSlot<String>()
    var shown: [String] = []
    slot.load(url, from: fixture.cache) { shown.append(self.describe($0)) }
    await fixture.fetcher.waitForRequests(2)
    await settle()
    #expect(shown == ["placeholder"])
    fixture.fetcher.release()
    try await until { !slot.isLoading }
    #expect(shown == ["placeholder", "/a 2"])
  }

  @Test func `a fling over many rows makes one request for each, also for those passed by`()
    async throws
  {
    let fixture = Fixture()
    fixture.fetcher.hold()
    let slot = ResourceSlot<String>()
    for number in 0..<50 {
      slot.load(try fixture.url("/\(number)"), from: fixture.cache) { _ in }
      await fixture.fetcher.waitForRequests(number + 1)
      fixture.fetcher.requests[number].noteBegun()
    }
    fixture.fetcher.release()
    for number in 0..<50 {
      _ = try await fixture.cache.value(for: try fixture.url("/\(number)"))
    }
    #expect(fixture.fetcher.requests.count == 50)
    #expect(fixture.fetcher.cancelled == 0)
  }

  @Test func `a slot keeps nothing alive, and nothing keeps it alive`() async throws {
    @MainActor final class Row {
      let slot = ResourceSlot<String>()
      var text = ""
    }
    let fixture = Fixture()
    fixture.fetcher.hold()
    weak var leaked: Row?
    weak var leakedSlot: ResourceSlot<String>?
    do {
      let row = Row()
      (leaked, leakedSlot) = (row, row.slot)
      row.slot.load(try fixture.url(), from: fixture.cache) { [weak row] _ in row?.text = "shown" }
      await fixture.fetcher.waitForRequests(1)
      #expect(row.text == "shown")
    }
    #expect(leaked == nil)
    #expect(leakedSlot == nil)
    // Nobody waits any more, so the request ends.
    try await until { fixture.fetcher.cancelled >= 1 }
  }
}

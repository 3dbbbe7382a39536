import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers

/// Holds steps midway until the test opens it; records which came, and which ran at the same time.
final class StepGate: Sendable {
  private struct State {
    var isOpen = false
    var came: [String] = []
    var inside = 0
    var mostInside = 0
    var held: [CheckedContinuation<Void, Never>] = []
    var arrivals: [(count: Int, waiter: CheckedContinuation<Void, Never>)] = []
  }

  private let state: NIOLockedValueBox<State>

  init(isOpen: Bool = false) { state = NIOLockedValueBox(State(isOpen: isOpen)) }

  /// The inputs of the steps that came, in order.
  var came: [String] { state.withLockedValue { $0.came } }
  /// The number of steps that are inside now.
  var inside: Int { state.withLockedValue { $0.inside } }
  /// The most that were inside at the same time.
  var mostInside: Int { state.withLockedValue { $0.mostInside } }

  /// A step that waits in the gate, then checks whether it must stop.
  var step: StepClosure {
    { context in
      await self.pass(context.input ?? "")
      try context.checkpoint()
    }
  }

  func pass(_ name: String) async {
    enter(name)
    await withCheckedContinuation { waiter in
      let isOpen = state.withLockedValue { state in
        if !state.isOpen { state.held.append(waiter) }
        return state.isOpen
      }
      if isOpen { waiter.resume() }
    }
    leave()
  }

  /// A step that runs until it is stopped, the first `times` times; then it ends at once.
  func spin(times: Int = .max) -> StepClosure {
    { context in
      let input = context.input ?? ""
      self.enter(input)
      defer { self.leave() }
      guard self.came.count(where: { $0 == input }) <= times else { return }
      try await until {
        try context.checkpoint()
        return false
      }
    }
  }

  private func leave() { state.withLockedValue { $0.inside -= 1 } }

  private func enter(_ name: String) {
    let woken = state.withLockedValue { state in
      state.came.append(name)
      state.inside += 1
      state.mostInside = max(state.mostInside, state.inside)
      let ready = state.arrivals.filter { $0.count <= state.came.count }
      state.arrivals.removeAll { $0.count <= state.came.count }
      return ready.map(\.waiter)
    }
    for waiter in woken { waiter.resume() }
  }

  /// Returns when so many have come.
  func waitForArrivals(_ count: Int) async {
    await withCheckedContinuation { waiter in
      let isThere = state.withLockedValue { state in
        if state.came.count < count { state.arrivals.append((count, waiter)) }
        return state.came.count >= count
      }
      if isThere { waiter.resume() }
    }
  }

  /// Releases the held steps, and lets later ones pass.
  func open() {
    let held = state.withLockedValue { state in
      state.isOpen = true
      defer { state.held = [] }
      return state.held
    }
    for waiter in held { waiter.resume() }
  }

  /// Holds later ones again.
  func close() { state.withLockedValue { $0.isOpen = false } }
}

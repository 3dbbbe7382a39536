import NIOConcurrencyHelpers

/// Stops one of several tasks.
struct StopSignal: Sendable {
  private struct State {
    var isStopped = false
    var action: (@Sendable () -> Void)?
  }

  private let state = NIOLockedValueBox(State())

  var isStopped: Bool { state.withLockedValue { $0.isStopped } }

  func stop() {
    let action = state.withLockedValue { state in
      state.isStopped = true
      defer { state.action = nil }
      return state.action
    }
    action?()
  }

  /// Calls `action` when stopped; at once if it already is.
  func whenStopped(_ action: @escaping @Sendable () -> Void) {
    let isStopped = state.withLockedValue { state in
      if !state.isStopped { state.action = action }
      return state.isStopped
    }
    if isStopped { action() }
  }
}

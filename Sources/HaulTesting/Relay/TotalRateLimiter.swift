import NIOCore

/// Grants turns to the pipes of a relay at its total rate.
final class TotalRateLimiter {
  private var total: TotalRateState
  private var asking: [Int: RelayPipe] = [:]
  private let eventLoop: any EventLoop
  private var isServing = false
  private var isAwaited = false

  init(_ rates: RelayRules.TotalRate, eventLoop: any EventLoop) {
    total = TotalRateState(rates, now: .now())
    self.eventLoop = eventLoop
  }

  var open: Int {
    get { total.open }
    set { total.open = newValue }
  }

  func ask(_ pipe: RelayPipe) {
    asking[pipe.number] = pipe
    total.ask(pipe.number)
    serve()
  }

  private func serve() {
    guard !isServing, !isAwaited else { return }
    isServing = true
    defer { isServing = false }
    while true {
      switch total.turn(.now()) {
      case .idle: return
      case .wait(let due): return wake(at: due)
      case .grant(let number):
        guard let pipe = asking.removeValue(forKey: number) else { continue }
        total.sent(pipe.takeTurn())
      }
    }
  }

  private func wake(at due: NIODeadline) {
    isAwaited = true
    eventLoop.assumeIsolated().scheduleTask(deadline: due) {
      self.isAwaited = false
      self.serve()
    }
  }
}

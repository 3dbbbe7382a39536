import NIOCore

/// Passes each item on after the same delay, in order; at once without a delay.
final class DelayLine<Item> {
  private let delay: TimeAmount
  private let eventLoop: any EventLoop
  private let deliver: (Item) -> Void
  private var items = CircularBuffer<(due: NIODeadline, item: Item)>()

  init(delay: TimeAmount, eventLoop: any EventLoop, deliver: @escaping (Item) -> Void) {
    self.delay = delay
    self.eventLoop = eventLoop
    self.deliver = deliver
  }

  var isEmpty: Bool { items.isEmpty }

  func append(_ item: Item) {
    guard delay > .zero else { return deliver(item) }
    items.append((.now() + delay, item))
    if items.count == 1 { wake(at: items[items.startIndex].due) }
  }

  private func wake(at due: NIODeadline) {
    eventLoop.assumeIsolated().scheduleTask(deadline: due) { self.deliverDue() }
  }

  private func deliverDue() {
    let now = NIODeadline.now()
    while let first = items.first, first.due <= now {
      // Removed afterwards: what `deliver` appends must not set a second alarm.
      deliver(first.item)
      items.removeFirst()
    }
    if let first = items.first { wake(at: first.due) }
  }
}

import NIOCore

/// One direction of a connection: what it has read and may not send yet, and what is on its way.
final class RelayPipe {
  let number: Int
  private var source: (any Channel)?
  private var target: (any Channel)?
  private let eventLoop: any EventLoop
  private var flow: RelayFlow
  private var dice: RelayDice?
  private let share: RelayShare?
  private let reports: Reports

  private var held = CircularBuffer<ByteBuffer>()
  private var heldBytes = 0
  private(set) var sourceHasEnded = false
  /// The target was told of the end.
  private(set) var hasEnded = false
  private var isMoving = false
  private var isAsking = false
  private var isAwaited = false
  private var writing = 0
  private let delay: TimeAmount
  private lazy var there = DelayLine<ByteBuffer>(delay: delay, eventLoop: eventLoop) {
    [weak self] in self?.deliver($0)
  }
  /// Acknowledgements on their way back.
  private lazy var back = DelayLine<Int>(delay: delay, eventLoop: eventLoop) {
    [weak self] in self?.acknowledge($0)
  }

  /// What a pipe tells its connection.
  struct Reports {
    /// So many bytes were handed to the target.
    var onBytes: (Int) -> Void
    /// The dice want a reset now.
    var onReset: () -> Void
    /// The target does not take bytes any more.
    var onFailure: () -> Void
    /// The source ended, and the target was told after the last byte.
    var onEnd: () -> Void
  }

  init(
    number: Int, from source: any Channel, to target: any Channel, flow: RelayFlow,
    dice: RelayDice?, share: RelayShare?, delay: TimeAmount, reports: Reports
  ) {
    self.number = number
    self.source = source
    self.target = target
    self.flow = flow
    self.dice = dice
    self.share = share
    self.reports = reports
    eventLoop = source.eventLoop
    self.delay = delay
  }

  /// Forgets all; timers that are set find nothing to do.
  func stop() {
    source = nil
    target = nil
    held.removeAll()
    heldBytes = 0
    hasEnded = true
  }

  // MARK: In

  func readMore() {
    if heldBytes < RelayFlow.bufferSize, !sourceHasEnded { source?.read() }
  }

  func receive(_ bytes: ByteBuffer) {
    held.append(bytes)
    heldBytes += bytes.readableBytes
    move()
  }

  func receiveEnd() {
    sourceHasEnded = true
    endIfEmpty()
  }

  // MARK: Out

  /// Sends what may leave now; asks for a turn, or sets an alarm, for what may not.
  private func move() {
    guard !isMoving else { return }
    isMoving = true
    defer { isMoving = false }
    while heldBytes > 0 {
      switch flow.turn(held: heldBytes, now: .now()) {
      case .blocked: return
      case .wait(let due): return wake(at: due)
      case .send(let count):
        guard let share else {
          depart(count)
          continue
        }
        ask(share)
        // The turn may have come at once, and then there is more to ask for.
        if isAsking { return }
      }
    }
  }

  private func wake(at due: NIODeadline) {
    guard !isAwaited else { return }
    isAwaited = true
    eventLoop.assumeIsolated().scheduleTask(deadline: due) {
      self.isAwaited = false
      self.move()
    }
  }

  private func ask(_ share: RelayShare) {
    guard !isAsking else { return }
    isAsking = true
    share.ask(self)
  }

  /// The server's turn to send one buffer here; gives how much of it was used.
  func takeTurn() -> Int {
    isAsking = false
    guard heldBytes > 0, case .send(let count) = flow.turn(held: heldBytes, now: .now()) else {
      move()
      return 0
    }
    let sent = depart(count)
    move()
    return sent
  }

  @discardableResult
  private func depart(_ most: Int) -> Int {
    guard var first = held.first else { return 0 }
    let count = min(most, first.readableBytes)
    guard let piece = first.readSlice(length: count) else { return 0 }
    if first.readableBytes == 0 { held.removeFirst() } else { held[held.startIndex] = first }
    heldBytes -= count
    flow.sent(count)
    there.append(piece)
    if dice?.resets(after: count) == true { reports.onReset() }
    readMore()
    return count
  }

  private func deliver(_ bytes: ByteBuffer) {
    guard let target else { return }
    let count = bytes.readableBytes
    reports.onBytes(count)
    writing += 1
    target.writeAndFlush(bytes).assumeIsolated().whenComplete { result in
      self.writing -= 1
      switch result {
      case .success:
        self.back.append(count)
        // Later, as the line still counts the piece that it delivers.
        if self.sourceHasEnded { self.eventLoop.assumeIsolated().execute { self.endIfEmpty() } }
      case .failure: self.reports.onFailure()
      }
    }
  }

  private func acknowledge(_ count: Int) {
    flow.acknowledged(count)
    move()
  }

  /// Tells the target of the end, after the last byte: bytes not yet written would be lost.
  private func endIfEmpty() {
    guard sourceHasEnded, !hasEnded, heldBytes == 0, there.isEmpty, writing == 0 else { return }
    hasEnded = true
    target?.close(mode: .output).assumeIsolated().whenComplete { _ in self.reports.onEnd() }
  }
}

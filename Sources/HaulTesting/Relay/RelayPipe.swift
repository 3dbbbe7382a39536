import NIOCore

/// One direction of a connection: bytes that were read and wait, and bytes in transit.
final class RelayPipe {
  let number: Int
  private var source: (any Channel)?
  private var target: (any Channel)?
  private let eventLoop: any EventLoop
  private var flow: RelayFlow
  private var randomResets: RandomResets?
  private let share: TotalRateLimiter?
  private let reports: Reports

  private var held = CircularBuffer<ByteBuffer>()
  private var heldBytes = 0
  private(set) var sourceHasEnded = false
  /// Whether the end was passed to the target.
  private(set) var hasEnded = false
  private var isMoving = false
  private var isAsking = false
  private var isAwaited = false
  private var writing = 0
  private let delay: TimeAmount
  private lazy var toTarget = DelayLine<ByteBuffer>(delay: delay, eventLoop: eventLoop) {
    [weak self] in self?.deliver($0)
  }
  /// Acknowledgements in transit.
  private lazy var acknowledgements = DelayLine<Int>(delay: delay, eventLoop: eventLoop) {
    [weak self] in self?.acknowledge($0)
  }

  /// Reports of a pipe to its connection.
  struct Reports {
    /// So many bytes were handed to the target.
    var onBytes: (Int) -> Void
    /// The random resets require one now.
    var onReset: () -> Void
    /// The target no longer takes bytes.
    var onFailure: () -> Void
    /// The source ended, and the end was passed to the target after the last byte.
    var onEnd: () -> Void
  }

  init(
    number: Int, from source: any Channel, to target: any Channel, flow: RelayFlow,
    randomResets: RandomResets?, share: TotalRateLimiter?, delay: TimeAmount, reports: Reports
  ) {
    self.number = number
    self.source = source
    self.target = target
    self.flow = flow
    self.randomResets = randomResets
    self.share = share
    self.reports = reports
    eventLoop = source.eventLoop
    self.delay = delay
  }

  /// Forgets everything, so that pending timers have no effect.
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

  /// Sends what may leave now. For the rest, requests a turn or sets an alarm.
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
          sendNow(count)
          continue
        }
        ask(share)
        // The turn may have come at once; then request the next one.
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

  private func ask(_ share: TotalRateLimiter) {
    guard !isAsking else { return }
    isAsking = true
    share.ask(self)
  }

  /// Sends one buffer in the server's turn; returns how much of it was used.
  func takeTurn() -> Int {
    isAsking = false
    guard heldBytes > 0, case .send(let count) = flow.turn(held: heldBytes, now: .now()) else {
      move()
      return 0
    }
    let sent = sendNow(count)
    move()
    return sent
  }

  @discardableResult
  private func sendNow(_ most: Int) -> Int {
    guard var first = held.first else { return 0 }
    let count = min(most, first.readableBytes)
    guard let piece = first.readSlice(length: count) else { return 0 }
    if first.readableBytes == 0 { held.removeFirst() } else { held[held.startIndex] = first }
    heldBytes -= count
    flow.sent(count)
    toTarget.append(piece)
    if randomResets?.resets(after: count) == true { reports.onReset() }
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
        self.acknowledgements.append(count)
        // Later, because the line still counts the piece that it is delivering.
        if self.sourceHasEnded { self.eventLoop.assumeIsolated().execute { self.endIfEmpty() } }
      case .failure: self.reports.onFailure()
      }
    }
  }

  private func acknowledge(_ count: Int) {
    flow.acknowledged(count)
    move()
  }

  /// Passes the end to the target after the last byte; otherwise unwritten bytes would be lost.
  private func endIfEmpty() {
    guard sourceHasEnded, !hasEnded, heldBytes == 0, toTarget.isEmpty, writing == 0 else { return }
    hasEnded = true
    target?.close(mode: .output).assumeIsolated().whenComplete { _ in self.reports.onEnd() }
  }
}

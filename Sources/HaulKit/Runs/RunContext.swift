package import HaulCore
import NIOConcurrencyHelpers
import Synchronization

/// What a driver is given for one run: it receives orders, and sends reports.
package final class RunContext: Sendable {
  package typealias Receiver = @Sendable (RunOrder) -> Void

  private struct Orders {
    var receiver: Receiver?
    var waiting: [RunOrder] = []
    var identity: TransferIdentity?
    var plan: LockedSegmentPlan?
    var acknowledged: Int64?
    /// Nil until it first has a rate limit of its own.
    var throttle: Throttle?
    var access: Access?
  }

  /// Header fields that replace those of the request.
  struct Access: Sendable {
    let fields: HeaderFields
    let bearerFile: String?
  }

  package let id: TransferID
  let engine: Engine
  private weak let coordinator: QueueCoordinator?
  private let orders = NIOLockedValueBox(Orders())
  private let isLimited = Synchronization.Atomic(false)

  /// - Parameter coordinator: nil when it is gone.
  package init(id: TransferID, engine: Engine, coordinator: QueueCoordinator?) {
    self.id = id
    self.engine = engine
    self.coordinator = coordinator
  }

  /// The identity that its events carry; nil before its request was read.
  var identity: TransferIdentity? {
    get { orders.withLockedValue { $0.identity } }
    set { orders.withLockedValue { $0.identity = newValue } }
  }

  /// What later requests of a download send in place of what its request had; nil if that is
  /// unchanged.
  var access: Access? { orders.withLockedValue { $0.access } }

  /// Takes over the parts of a changed request that count while it runs.
  func take(_ request: TransferRequest) {
    orders.withLockedValue { orders in
      orders.identity = TransferIdentity(request)
      orders.access = Access(fields: request.headers, bearerFile: request.bearerFile)
    }
  }

  /// Sends an order to the driver, at once or as soon as it listens.
  package func send(_ order: RunOrder) {
    // Sent under the lock, to keep their order. A receiver only stores the order, so it cannot
    // block.
    orders.withLockedValue { orders in
      if let receiver = orders.receiver { receiver(order) } else { orders.waiting.append(order) }
    }
  }

  /// Which bytes of a download are on disk, and which are being fetched; nil for other runs.
  var segments: TransferSegments? {
    orders.withLockedValue { $0.plan }?.update { TransferSegments($0.plan) }
  }

  /// The bytes of an upload that the server is known to have; nil for other runs.
  var acknowledged: Int64? {
    get { orders.withLockedValue { $0.acknowledged } }
    set { orders.withLockedValue { $0.acknowledged = newValue } }
  }

  /// Sets the receiver of orders, which first gets the earlier ones. Called once.
  /// - Parameter plan: of a download.
  func receiveOrders(for plan: LockedSegmentPlan, _ receiver: @escaping Receiver) {
    orders.withLockedValue { $0.plan = plan }
    receiveOrders(receiver)
  }

  /// Sets the receiver of orders, which first gets the earlier ones. Called once.
  package func receiveOrders(_ receiver: @escaping Receiver) {
    orders.withLockedValue { orders in
      orders.receiver = receiver
      for order in orders.waiting { receiver(order) }
      orders.waiting = []
    }
  }

  /// Whether it has a rate limit of its own.
  var isRateLimited: Bool { isLimited.load(ordering: .relaxed) }

  /// Sets its own rate limit, in bytes per second, from now on; nil or 0 for none.
  func limitRate(to rate: Int64?) {
    orders.withLockedValue { orders in
      orders.throttle = orders.throttle ?? Throttle(rate: nil, clock: engine.clock)
      orders.throttle?.setRate(rate)
      isLimited.store(orders.throttle?.isLimited == true, ordering: .relaxed)
    }
  }

  /// Waits until some of `bytes` may pass its own limit, and returns how many.
  /// - Throws: `CancellationError`.
  func take(upTo bytes: Int) async throws -> Int {
    guard isRateLimited, let throttle = orders.withLockedValue({ $0.throttle }) else {
      return bytes
    }
    return try await throttle.take(upTo: bytes)
  }

  /// Returns after the coordinator has handled the report.
  /// - Returns: the error, if it had to be stored and could not be.
  @discardableResult
  func report(_ report: RunReport) async -> TransferError? {
    guard let coordinator else {
      return TransferError(.interrupted, "its manager no longer exists")
    }
    return await coordinator.handle(report, of: id)
  }

  /// Pauses a host that asked for it, for all transfers and also after a crash. Others do not wait
  /// for as long as one transfer may.
  func pauseHost(_ host: String, until instant: Instant) async {
    let instant = min(instant, engine.clock.now + RetryAfter.longestPause)
    engine.scheduler.update { $0.pauseHost(host, until: instant) }
    await report(.hostPaused(until: instant))
  }
}

/// Orders from the manager to a run.
package enum RunOrder: Sendable {
  case pause, cancel, slotGranted
  /// The manager shuts down, and waits only a short time for the run.
  case forceStop
}

/// Reports from a run to its manager, before its end.
enum RunReport: Sendable {
  /// It needs no slot for now; the time until which, if it is known.
  case slotReleased(until: Instant?)
  case slotRequested
  /// A connection is free, or a host has a new limit: another transfer may start.
  case slotsChanged
  /// Its host asked for a pause.
  case hostPaused(until: Instant)
  /// The server sent the name.
  case named(FileName)
  /// The bytes of the earlier run are discarded.
  case startedOver
  /// The transfer has its file; the closure is called on a file thread once its end is stored.
  case published(afterStored: @Sendable () -> Void)
  /// Where its bytes are, for the next run.
  case bytesLocated(FileLocation)
  /// A store has parts of a cancelled upload, and could not be asked to delete them.
  case uploadLeft(UploadRequest)
  /// A program is prepared; it executes its first instruction after this report.
  case processPrepared(ProcessIdentity)
}

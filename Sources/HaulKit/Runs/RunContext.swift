package import HaulCore
import NIOConcurrencyHelpers

/// What a driver is given for one run: orders come in, reports go out.
package final class RunContext: Sendable {
  package typealias Receiver = @Sendable (RunOrder) -> Void

  private struct Orders {
    var receiver: Receiver?
    var waiting: [RunOrder] = []
    var identity: TransferIdentity?
  }

  package let id: TransferID
  let engine: Engine
  private weak let coordinator: QueueCoordinator?
  private let orders = NIOLockedValueBox(Orders())

  /// - Parameter coordinator: nil when it is gone.
  package init(id: TransferID, engine: Engine, coordinator: QueueCoordinator?) {
    self.id = id
    self.engine = engine
    self.coordinator = coordinator
  }

  /// What its events carry; nil before its request was read.
  var identity: TransferIdentity? {
    get { orders.withLockedValue { $0.identity } }
    set { orders.withLockedValue { $0.identity = newValue } }
  }

  /// Gives an order to the driver, at once or as soon as it listens.
  package func send(_ order: RunOrder) {
    // Under the lock, so that orders keep their order: a receiver only notes them.
    orders.withLockedValue { orders in
      if let receiver = orders.receiver { receiver(order) } else { orders.waiting.append(order) }
    }
  }

  /// Has orders go to the driver, with those that came before first. Called once.
  package func receiveOrders(_ receiver: @escaping Receiver) {
    orders.withLockedValue { orders in
      orders.receiver = receiver
      for order in orders.waiting { receiver(order) }
      orders.waiting = []
    }
  }

  /// Nothing of the run is under way any more.
  func ended(_ end: RunEnd, on executor: (any TaskExecutor)?) async {
    await coordinator?.ended(id, end, on: executor)
  }

  /// Returns after the coordinator has handled the report.
  /// - Returns: why it could not be stored, if it was to be.
  @discardableResult
  func report(_ report: RunReport) async -> TransferError? {
    guard let coordinator else { return TransferError(.interrupted, "its manager is gone") }
    return await coordinator.handle(report, of: id)
  }
}

/// What the manager may want of a run.
package enum RunOrder: Sendable {
  case pause, cancel, slotGranted
  /// The manager ends, and waits a moment yet.
  case cutShort
}

/// What a run tells its manager before its end.
enum RunReport: Sendable {
  /// It needs no slot for now: until that time, if it is known.
  case slotLeft(until: Instant?)
  case slotWanted
  /// A connection is free, or a host has a new limit or pause: another may start.
  case slotsChanged
  /// The server told the name.
  case named(FileName)
  /// The bytes that were to be forgotten are.
  case startedOver
  /// The file has its name; the closure is called on a thread for files, once that is stored.
  case published(onceStored: @Sendable () -> Void)
  /// Its bytes lie there, for the next run.
  case leaves(FileLocation)
  /// A program was prepared, and executes its first instruction after this.
  case processBegins(ProcessIdentity)
}

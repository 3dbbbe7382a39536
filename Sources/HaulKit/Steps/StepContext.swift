public import HaulCore
import NIOConcurrencyHelpers

/// What a registered step does. It is found again by its name after a restart.
///
/// It returns when its work is done, and throws when it failed. To be paused it calls
/// `StepContext.checkpoint()` now and then; one that never does runs to its end.
public typealias StepClosure = @Sendable (StepContext) async throws -> Void

/// What a step knows of itself, and how it tells how far it is.
public struct StepContext: Sendable {
  /// The step's place in the queue.
  public let id: TransferID
  /// What the request says, if anything.
  public let input: String?
  let state: StepState
  let tell: @Sendable (TransferProgress) -> Void

  /// Tells how much of the work is done, in units of the step's own.
  public func progress(_ done: Int64, of total: Int64? = nil) {
    tell(TransferProgress(bytes: done, total: total, rate: 0, connections: 0))
  }

  /// Throws when the step was paused or cancelled: let the error pass, and it counts as that. After
  /// a pause the closure is called again from its beginning.
  public func checkpoint() throws {
    if let order = state.order { throw StepStop(order: order) }
  }
}

/// Stops a step from within.
struct StepStop: Error {
  let order: RunOrder
}

/// What was ordered of a step, and the task that it runs in.
final class StepState: Sendable {
  private let box = NIOLockedValueBox<(order: RunOrder?, task: Task<Void, any Error>?)>(
    (nil, nil))

  var order: RunOrder? { box.withLockedValue { $0.order } }

  /// A cancellation overrides a pause and cancels the task as well.
  func take(_ order: RunOrder) {
    let task = box.withLockedValue { box in
      switch order {
      case .cancel: box.order = order
      case .pause: box.order = box.order ?? order
      case .cutShort: return box.task
      case .slotGranted: break
      }
      return box.order == .cancel ? box.task : nil
    }
    task?.cancel()
  }

  func runs(in task: Task<Void, any Error>) {
    let isCancelled = box.withLockedValue { box in
      box.task = task
      return box.order == .cancel
    }
    if isCancelled { task.cancel() }
  }
}

public import HaulCore
import NIOConcurrencyHelpers

/// The work of a registered step, found by the step's name after a restart.
///
/// It returns when it is done, and throws when it failed. To allow a pause, it calls
/// `StepContext.checkpoint()` now and then; without a checkpoint it runs to its end.
public typealias StepClosure = @Sendable (StepContext) async throws -> Void

/// Gives a step its id and input, and takes its progress.
public struct StepContext: Sendable {
  /// The step's transfer id.
  public let id: TransferID
  /// The input of the request, if any.
  public let input: String?
  let state: StepState
  let report: @Sendable (TransferProgress) -> Void

  /// Reports how much of the work is done, in any unit.
  public func progress(_ done: Int64, of total: Int64? = nil) {
    report(TransferProgress(bytes: done, total: total, rate: 0, connections: 0))
  }

  /// Throws when the step was paused or cancelled; do not catch that error. After a pause, the
  /// closure is called again from its beginning.
  public func checkpoint() throws {
    if let order = state.order { throw StepStop(order: order) }
  }
}

/// Stops a step from inside.
struct StepStop: Error {
  let order: RunOrder
}

/// The order that a step received, and the task that it runs in.
final class StepState: Sendable {
  private let box = NIOLockedValueBox<(order: RunOrder?, task: Task<Void, any Error>?)>(
    (nil, nil))

  var order: RunOrder? { box.withLockedValue { $0.order } }

  /// A cancellation overrides a pause, and also cancels the task.
  func take(_ order: RunOrder) {
    let task = box.withLockedValue { box in
      switch order {
      case .cancel: box.order = order
      case .pause: box.order = box.order ?? order
      case .forceStop: return box.task
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

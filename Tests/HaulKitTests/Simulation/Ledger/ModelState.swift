import HaulCore

/// The stage of a member, as in docs/states.md, written a second time, so that the machine does not
/// check itself.
enum ModelState: Hashable, Sendable {
  case queued, running, stopping(TransferMachine.Intent), paused, failed, completed, cancelled, gone

  /// The result of a command.
  enum Outcome: Hashable, Sendable {
    case becomes(ModelState)
    case unchanged
    case refused(CommandRefusal)
  }

  var isEnded: Bool { end != nil }

  /// Its reported end.
  var end: TransferResult.State? {
    switch self {
    case .failed: .failed
    case .completed: .completed
    case .cancelled: .cancelled
    default: nil
    }
  }

  /// Whether something may run for it.
  var isUnderWay: Bool {
    switch self {
    case .running, .stopping: true
    default: false
    }
  }

  /// The stage in the store: a transfer that stops to be requeued is running there.
  var stored: ModelState { self == .stopping(.requeue) ? .running : self }

  init(_ storedState: StoredState) {
    switch (storedState.desired, storedState.status) {
    case (.removed, _): self = .stopping(.remove)
    case (.cancelled, let status) where status != .cancelled: self = .stopping(.cancel)
    case (.cancelledKeepingBytes, let status) where status != .cancelled:
      self = .stopping(.cancelKeepingBytes)
    case (.paused, .queued): self = .stopping(.pause)
    case (_, .queued): self = storedState.wasRunning ? .running : .queued
    case (_, .paused): self = .paused
    case (_, .failed): self = .failed
    case (_, .completed): self = .completed
    case (_, .cancelled): self = .cancelled
    }
  }

  func outcome(_ command: TransferMachine.Command, hasRun: Bool) -> Outcome {
    switch self {
    case .queued: whileQueued(command, hasRun)
    case .running: whileRunning(command)
    case .stopping(let intent): whileStopping(intent, command)
    case .paused: whilePaused(command, hasRun)
    case .failed: onceFailed(command, hasRun)
    case .completed:
      switch command {
      case .restart: .becomes(.queued)
      case .remove: .becomes(.gone)
      default: .refused(.isCompleted)
      }
    case .cancelled:
      switch command {
      case .cancel, .cancelKeepingBytes: .unchanged
      case .retry, .restart: .becomes(.queued)
      case .remove: .becomes(.gone)
      default: .refused(.isCancelled)
      }
    case .gone: command == .remove ? .unchanged : .refused(.isUnknown)
    }
  }

  private func whileQueued(_ command: TransferMachine.Command, _ hasRun: Bool) -> Outcome {
    switch command {
    case .pause: .becomes(.paused)
    case .cancelKeepingBytes: .becomes(.cancelled)
    case .cancel: .becomes(hasRun ? .stopping(.cancel) : .cancelled)
    case .remove: .becomes(hasRun ? .stopping(.remove) : .gone)
    default: .unchanged
    }
  }

  private func whileRunning(_ command: TransferMachine.Command) -> Outcome {
    switch command {
    case .pause: .becomes(.stopping(.pause))
    case .requeue, .restart: .becomes(.stopping(.requeue))
    case .cancel: .becomes(.stopping(.cancel))
    case .cancelKeepingBytes: .becomes(.stopping(.cancelKeepingBytes))
    case .remove: .becomes(.stopping(.remove))
    default: .unchanged
    }
  }

  private func whileStopping(
    _ intent: TransferMachine.Intent, _ command: TransferMachine.Command
  ) -> Outcome {
    switch (intent, command) {
    case (.remove, .remove): .unchanged
    case (.remove, _): .refused(.isBeingRemoved)
    case (_, .remove): .becomes(.stopping(.remove))
    case (.cancel, .cancel), (.cancel, .cancelKeepingBytes): .unchanged
    case (_, .cancel): .becomes(.stopping(.cancel))
    case (.cancelKeepingBytes, .cancelKeepingBytes): .unchanged
    case (.cancel, _), (.cancelKeepingBytes, _): .refused(.isBeingCancelled)
    case (_, .cancelKeepingBytes): .becomes(.stopping(.cancelKeepingBytes))
    case (.pause, .pause), (_, .retry): .unchanged
    case (.requeue, .pause): .becomes(.stopping(.pause))
    case (.pause, _): .becomes(.stopping(.requeue))
    case (.requeue, _): .unchanged
    }
  }

  private func whilePaused(_ command: TransferMachine.Command, _ hasRun: Bool) -> Outcome {
    switch command {
    case .pause, .retry: .unchanged
    case .cancelKeepingBytes: .becomes(.cancelled)
    case .cancel: .becomes(hasRun ? .stopping(.cancel) : .cancelled)
    case .remove: .becomes(hasRun ? .stopping(.remove) : .gone)
    default: .becomes(.queued)
    }
  }

  private func onceFailed(_ command: TransferMachine.Command, _ hasRun: Bool) -> Outcome {
    switch command {
    case .retry, .restart: .becomes(.queued)
    case .cancelKeepingBytes: .becomes(.cancelled)
    case .cancel: .becomes(hasRun ? .stopping(.cancel) : .cancelled)
    case .remove: .becomes(hasRun ? .stopping(.remove) : .gone)
    default: .refused(.hasFailed)
    }
  }
}

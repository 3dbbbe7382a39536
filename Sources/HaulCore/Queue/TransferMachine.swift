/// The state machine of one member: each pair of state and command has one outcome. It starts
/// nothing; it returns effects to perform.
package struct TransferMachine: Hashable, Sendable {
  package enum State: Hashable, Sendable {
    /// Waits for a slot, or for another member.
    case queued
    /// It has a run.
    case running
    /// Its input and output are being stopped, or its bytes deleted.
    case stopping(Intent)
    case paused, failed, completed, cancelled, removed
  }

  /// The state after it has stopped.
  package enum Intent: CaseIterable, Hashable, Sendable {
    case pause, requeue, cancel, cancelKeepingBytes, remove
  }

  package enum Command: CaseIterable, Hashable, Sendable {
    case pause, resume, requeue, cancel, cancelKeepingBytes, retry, restart, remove, start, force
  }

  /// How its run ended.
  package enum RunEndKind: CaseIterable, Hashable, Sendable {
    case completed, failed, cancelled, paused
    /// It stopped by itself, or because of the queue, and resumes later.
    case suspended
  }

  package enum Effect: Hashable, Sendable {
    /// It waits for a slot from now on.
    case enqueue
    /// It no longer waits for a slot.
    case dequeue
    /// Its run must stop.
    case stop(deletingBytes: Bool)
    /// Its bytes on disk must be deleted; ends with `.cancelled`.
    case discard
    /// It goes before all others.
    case startNow
    /// It starts beyond the limits.
    case force
    /// If its run waits for its next attempt without a slot, it requests a slot at once.
    case endWait(beyondLimits: Bool)
    case reportPaused, reportResumed
    /// Its end is reported.
    case reportEnd(TransferResult.State)
  }

  package enum Outcome: Hashable, Sendable {
    case done([Effect])
    /// It already is in that state.
    case unchanged
    case refused(CommandRefusal)
  }

  package private(set) var state = State.queued
  /// Whether it has run, so that there may be bytes on disk.
  package private(set) var hasRun = false
  /// Whether its next run discards the bytes on disk.
  package private(set) var restartsFromZero = false
  /// Whether bytes that its run must discard may still be on disk.
  private var isRestartingFromZero = false
  /// Whether its end was reported, without a change since.
  private var hasReportedEnd = false

  package init() {}

  package mutating func handle(_ command: Command) -> Outcome {
    switch state {
    case .queued: whileQueued(command)
    case .running: whileRunning(command)
    case .stopping(let intent): whileStopping(intent, command)
    case .paused: whilePaused(command)
    case .failed: onceEnded(.hasFailed, command)
    case .completed: onceCompleted(command)
    case .cancelled: onceEnded(.isCancelled, command)
    case .removed: command == .remove ? .unchanged : .refused(.isUnknown)
    }
  }

  /// What a run must know about earlier ones.
  package struct Grant: Hashable, Sendable {
    /// Whether it discards the bytes on disk.
    package let restartsFromZero: Bool
    /// Whether there was an earlier run.
    package let hasRun: Bool
  }

  /// Starts it with a slot; nil if it no longer needs one.
  package mutating func granted() -> Grant? {
    guard state == .queued else { return nil }
    defer {
      (state, hasRun, restartsFromZero, isRestartingFromZero) = (
        .running, true, false, restartsFromZero
      )
    }
    return Grant(restartsFromZero: restartsFromZero, hasRun: hasRun)
  }

  /// Notes that its run has discarded the old bytes.
  package mutating func startedOver() { isRestartingFromZero = false }

  /// Notes that its run has ended, and that nothing of it remains.
  package mutating func ended(_ end: RunEndKind) -> [Effect] {
    let intent: Intent? = if case .stopping(let intent) = state { intent } else { nil }
    guard intent != nil || state == .running else { return [] }
    if isRestartingFromZero, end != .completed { restartsFromZero = true }
    isRestartingFromZero = false
    // A suspended run has also obeyed a command to stop.
    switch (end == .suspended && intent != nil ? .paused : end, intent) {
    case (.completed, .remove): return become(.removed, [.reportEnd(.completed)])
    case (.cancelled, .remove):
      return become(.removed, hasReportedEnd ? [] : [.reportEnd(.cancelled)])
    case (.paused, .cancel), (.failed, .cancel), (.paused, .remove), (.failed, .remove):
      // The command came too late for the run to delete its bytes.
      return [.discard]
    case (.completed, _) where restartsFromZero && intent == .requeue:
      return become(.queued, [.enqueue])
    case (.completed, _): return become(.completed, [.reportEnd(.completed)])
    case (.paused, .requeue): return become(.queued, [.enqueue])
    case (.failed, .requeue) where restartsFromZero: return become(.queued, [.enqueue])
    case (.paused, .cancelKeepingBytes), (.failed, .cancelKeepingBytes):
      return become(.cancelled, [.reportEnd(.cancelled)])
    case (.paused, _): return become(.paused, [.reportPaused])
    case (.failed, _): return become(.failed, [.reportEnd(.failed)])
    case (.cancelled, _): return become(.cancelled, [.reportEnd(.cancelled)])
    case (.suspended, _): return become(.queued, [.enqueue])
    }
  }

  /// Stops its run and requeues it. Nothing stored changes.
  /// - Returns: whether it had a run.
  package mutating func suspend() -> Bool {
    guard state == .running else { return false }
    state = .stopping(.requeue)
    return true
  }

  /// Queues it again after an end. Nothing is discarded.
  package mutating func repeats() -> [Effect] {
    guard state == .completed || state == .failed else { return [] }
    return become(.queued, [.reportResumed, .enqueue])
  }

  /// Ends it without another run: as its last one ended.
  package mutating func stopRepeating(as end: TransferResult.State) -> [Effect] {
    guard state == .queued, end != .cancelled else { return [] }
    return become(end == .completed ? .completed : .failed, [.dequeue, .reportEnd(end)])
  }

  /// Ends it without a run, because a dependency did not complete.
  package mutating func skip() -> [Effect] {
    guard state == .queued else { return [] }
    return become(.failed, [.dequeue, .reportEnd(.failed)])
  }

  private mutating func become(_ next: State, _ effects: [Effect]) -> [Effect] {
    state = next
    switch next {
    case .failed, .completed, .cancelled: hasReportedEnd = true
    case .queued, .running, .paused: hasReportedEnd = false
    case .stopping, .removed: break
    }
    return effects
  }

  private mutating func done(_ next: State, _ effects: [Effect] = []) -> Outcome {
    .done(become(next, effects))
  }
}

extension TransferMachine {
  private mutating func whileQueued(_ command: Command) -> Outcome {
    switch command {
    case .resume, .requeue, .retry: return .unchanged
    case .pause: return done(.paused, [.dequeue, .reportPaused])
    case .cancelKeepingBytes: return done(.cancelled, [.dequeue, .reportEnd(.cancelled)])
    case .cancel, .remove: return end(command, [.dequeue])
    case .restart:
      guard hasRun, !restartsFromZero else { return .unchanged }
      restartsFromZero = true
      return .done([])
    case .start: return .done([.startNow])
    case .force: return .done([.force])
    }
  }

  private mutating func whileRunning(_ command: Command) -> Outcome {
    switch command {
    case .resume, .retry: return .unchanged
    case .start: return .done([.endWait(beyondLimits: false)])
    case .force: return .done([.endWait(beyondLimits: true)])
    case .pause: return done(.stopping(.pause), [.stop(deletingBytes: false)])
    case .requeue: return done(.stopping(.requeue), [.stop(deletingBytes: false)])
    case .restart:
      restartsFromZero = true
      return done(.stopping(.requeue), [.stop(deletingBytes: false)])
    case .cancelKeepingBytes:
      return done(.stopping(.cancelKeepingBytes), [.stop(deletingBytes: false)])
    case .cancel: return done(.stopping(.cancel), [.stop(deletingBytes: true)])
    case .remove: return done(.stopping(.remove), [.stop(deletingBytes: true)])
    }
  }

  private mutating func whileStopping(_ intent: Intent, _ command: Command) -> Outcome {
    switch (intent, command) {
    case (.pause, .pause), (.requeue, .resume), (.requeue, .requeue), (.pause, .retry),
      (.requeue, .retry),
      (.cancel, .cancel), (.cancel, .cancelKeepingBytes),
      (.cancelKeepingBytes, .cancelKeepingBytes), (.remove, .remove):
      return .unchanged
    case (.remove, _): return .refused(.isBeingRemoved)
    case (_, .remove):
      return done(.stopping(.remove), intent == .cancel ? [] : [.stop(deletingBytes: true)])
    case (_, .cancel): return done(.stopping(.cancel), [.stop(deletingBytes: true)])
    case (.cancel, _), (.cancelKeepingBytes, _): return .refused(.isBeingCancelled)
    // A step can delay a pause, but not this command.
    case (_, .cancelKeepingBytes):
      return done(.stopping(.cancelKeepingBytes), [.stop(deletingBytes: false)])
    case (_, .pause): return done(.stopping(.pause))
    case (_, .start): return done(.stopping(.requeue), [.startNow])
    case (_, .force): return done(.stopping(.requeue), [.force])
    case (_, .restart):
      restartsFromZero = true
      return done(.stopping(.requeue))
    case (_, _): return done(.stopping(.requeue))
    }
  }

  private mutating func whilePaused(_ command: Command) -> Outcome {
    switch command {
    case .pause, .retry: return .unchanged
    case .resume, .requeue: return done(.queued, [.reportResumed, .enqueue])
    case .restart:
      restartsFromZero = hasRun
      return done(.queued, [.reportResumed, .enqueue])
    case .start: return done(.queued, [.reportResumed, .enqueue, .startNow])
    case .force: return done(.queued, [.reportResumed, .enqueue, .force])
    case .cancelKeepingBytes: return done(.cancelled, [.reportEnd(.cancelled)])
    case .cancel, .remove: return end(command)
    }
  }

  /// Failed or cancelled.
  private mutating func onceEnded(_ why: CommandRefusal, _ command: Command) -> Outcome {
    switch command {
    case .pause, .resume, .requeue, .start, .force: return .refused(why)
    case .retry: return done(.queued, [.reportResumed, .enqueue])
    case .restart:
      restartsFromZero = hasRun
      return done(.queued, [.reportResumed, .enqueue])
    case .cancel, .cancelKeepingBytes:
      guard state == .failed else { return .unchanged }
      return command == .cancel ? end(command) : done(.cancelled, [.reportEnd(.cancelled)])
    case .remove: return state == .failed && hasRun ? end(command) : done(.removed)
    }
  }

  private mutating func onceCompleted(_ command: Command) -> Outcome {
    switch command {
    case .restart:
      restartsFromZero = true
      return done(.queued, [.reportResumed, .enqueue])
    case .remove: return done(.removed)
    default: return .refused(.isCompleted)
    }
  }

  /// Cancels or removes a member without a run: at once if there can be no bytes.
  private mutating func end(_ command: Command, _ effects: [Effect] = []) -> Outcome {
    let isRemoval = command == .remove
    if hasRun { return done(.stopping(isRemoval ? .remove : .cancel), effects + [.discard]) }
    return done(isRemoval ? .removed : .cancelled, effects + [.reportEnd(.cancelled)])
  }
}

/// Its stored form.
extension TransferMachine {
  /// The machine of a stored member. A command that was not carried out when the process died makes
  /// it stopping again.
  package init(_ storedState: StoredState) {
    hasRun = storedState.hasRun
    restartsFromZero = storedState.restartsFromZero
    hasReportedEnd = storedState.status == .failed
    let status: State =
      switch storedState.status {
      case .queued: .queued
      case .paused: .paused
      case .failed: .failed
      case .completed: .completed
      case .cancelled: .cancelled
      }
    switch (storedState.desired, storedState.status) {
    case (.removed, _): state = .stopping(.remove)
    case (.cancelled, let status) where status != .cancelled: state = .stopping(.cancel)
    case (.cancelledKeepingBytes, let status) where status != .cancelled:
      state = .stopping(.cancelKeepingBytes)
    case (.paused, .queued): state = .stopping(.pause)
    default: state = status
    }
  }

  /// Writes the state to its stored form. A running member is stored as queued.
  package func write(into storedState: inout StoredState) {
    storedState.hasRun = hasRun
    storedState.restartsFromZero = restartsFromZero || isRestartingFromZero
    switch state {
    case .running, .stopping: storedState.wasRunning = true
    case .queued, .paused, .failed, .completed, .cancelled, .removed: storedState.wasRunning = false
    }
    // Until it has stopped, its last reported state counts.
    if case .stopping = state { storedState.status = hasReportedEnd ? .failed : .queued }
    switch state {
    case .queued, .running, .stopping(.requeue):
      (storedState.status, storedState.desired) = (.queued, .run)
    case .stopping(.pause): storedState.desired = .paused
    case .stopping(.cancel): storedState.desired = .cancelled
    case .stopping(.cancelKeepingBytes): storedState.desired = .cancelledKeepingBytes
    case .stopping(.remove), .removed: storedState.desired = .removed
    case .paused: (storedState.status, storedState.desired) = (.paused, .paused)
    case .failed: (storedState.status, storedState.desired) = (.failed, .run)
    case .completed: (storedState.status, storedState.desired) = (.completed, .run)
    case .cancelled: (storedState.status, storedState.desired) = (.cancelled, .cancelled)
    }
  }
}

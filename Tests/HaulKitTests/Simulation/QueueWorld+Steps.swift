import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers

/// The steps of the world.
extension QueueWorld {
  struct StepPlan: Sendable {
    var turns = 1
    var isPatient = false
    var failsOneIn: Int?
    var alwaysFails = false
  }

  struct StepFailed: Error {}

  /// A closure that sleeps several times, checks after each whether it must stop if it is patient,
  /// and may fail.
  static func work(
    _ context: StepContext, _ process: SimulatedProcess, _ ledger: SharedLedger,
    _ plans: NIOLockedValueBox<[String: StepPlan]>
  ) async throws {
    guard !process.isDead else { return }
    ledger.withLockedValue { ledger in
      ledger.stepBegan(context.id)
      ledger.checkTime(context.id, process.clock)
    }
    let plan = plans.withLockedValue { $0[context.input ?? ""] } ?? StepPlan()
    do {
      for turn in 1...plan.turns {
        let pause = Duration.milliseconds(1 + process.random.below(300))
        try await process.clock.wait(pause)
        context.progress(Int64(turn), of: Int64(plan.turns))
        if plan.isPatient { try context.checkpoint() }
      }
      let fails = plan.failsOneIn.map { process.random.oneIn($0) } ?? false
      if plan.alwaysFails || fails { throw StepFailed() }
    } catch {
      if !process.isDead { ledger.withLockedValue { $0.stepEnded(context.id, "with an error") } }
      throw error
    }
    if !process.isDead { ledger.withLockedValue { $0.stepEnded(context.id, "well") } }
  }
}

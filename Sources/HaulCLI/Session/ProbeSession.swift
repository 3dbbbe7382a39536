import HaulCore
import HaulKit

/// Runs `haul probe`.
struct ProbeSession {
  let plan: ProbePlan
  let environment: [String: String]

  func run() async -> ExitStatus {
    let manager: TransferManager
    do {
      manager = try TransferManager(
        plan.limits.configuration(logger: nil, environment: environment))
    } catch {
      await OutputStream.standardError.write(Messages.usage(error.message) + "\n")
      return .usage
    }
    let status = await ask(manager)
    await manager.shutdown()
    return status
  }

  private func ask(_ manager: TransferManager) async -> ExitStatus {
    do {
      let result = try await manager.probe(plan.request)
      return await show(plan.json ? ProbeOutput.json(result) : ProbeOutput.table(result))
    } catch {
      let line = Messages.failure(error, of: plan.request.url)
      await OutputStream.standardError.write(line + "\n")
      if plan.json { _ = await show(ProbeOutput.json(error, of: plan.request.url)) }
      return .failed
    }
  }

  private func show(_ text: String) async -> ExitStatus {
    switch await OutputStream.standardOutput.write(text) {
    case .written: .completed
    case .gone: .outputGone
    case .failed: .failed
    }
  }
}

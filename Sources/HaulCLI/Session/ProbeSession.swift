import HaulCore
import HaulKit

/// Runs `haul probe`.
struct ProbeSession {
  let plan: ProbePlan
  let environment: [String: String]

  func run() async -> ExitStatus {
    let (log, lines) = AsyncStream.makeStream(
      of: String.self, bufferingPolicy: .bufferingNewest(4096))
    let manager: TransferManager
    do {
      manager = try TransferManager(
        plan.managerOptions.configuration(
          logger: plan.verbose ? StandardErrorLog.logger(to: lines) : nil, environment: environment)
      )
    } catch {
      await OutputStream.standardError.write(Messages.usage(error.message) + "\n")
      return .usage
    }
    async let writing: Void = write(log)
    let answer = await ask(manager)
    await manager.shutdown()
    lines.finish()
    await writing
    return await show(answer)
  }

  private func write(_ log: AsyncStream<String>) async {
    for await line in log { await OutputStream.standardError.write(line + "\n") }
  }

  private func ask(_ manager: TransferManager) async -> Result<ProbeResult, TransferError> {
    do {
      return .success(
        try await manager.probe(plan.request) { attempt, error, delay in
          let line = Messages.retry(number: attempt, error, delay: delay, of: plan.request.url)
          await OutputStream.standardError.write(line + "\n")
        })
    } catch {
      return .failure(error)
    }
  }

  private func show(_ answer: Result<ProbeResult, TransferError>) async -> ExitStatus {
    switch answer {
    case .success(let result):
      return await show(plan.json ? ProbeOutput.json(result) : ProbeOutput.table(result))
    case .failure(let error):
      let line = Messages.failure(error, of: plan.request.url)
      await OutputStream.standardError.write(line + "\n")
      if plan.json { _ = await show(ProbeOutput.json(error, of: plan.request.url)) }
      return .failed
    }
  }

  private func show(_ text: String) async -> ExitStatus {
    await OutputStream.standardOutput.write(text).status
  }
}

import HaulControl
import HaulCore
import HaulKit
import Logging

/// Runs `haul serve`.
struct ServeSession {
  let plan: ServePlan
  private let environment: [String: String]

  init(plan: ServePlan, environment: [String: String]) {
    self.plan = plan
    self.environment = ProgramEnvironment.allowed(of: environment)
  }

  func run(_ serve: HaulProgram.Serve) async -> ExitStatus {
    do {
      var logger = Logger(label: "haul") { StreamLogHandler.standardError(label: $0) }
      logger.logLevel = plan.verbose ? .debug : .info
      var configuration = try plan.managerOptions.configuration(
        logger: logger, environment: environment, isAttended: false)
      configuration.refusesPrivateRedirects = !plan.allowsPrivateRedirects
      try await serve(
        try ControlLocation(environment: environment), configuration, plan, environment, logger)
      return .completed
    } catch let error as TransferError {
      await OutputStream.standardError.write(Messages.usage(error.message) + "\n")
    } catch {
      await OutputStream.standardError.write(Messages.usage("\(error)") + "\n")
    }
    return .failed
  }
}

import HaulCore
import HaulKit

/// Runs `haul verify`.
struct VerifySession {
  let plan: VerifyPlan

  func run() async -> ExitStatus {
    let name = Messages.shown(plan.path)
    do {
      try await FileVerifier.verify(path: plan.path, checksum: plan.checksum)
    } catch {
      let reason = Messages.shown(error.message)
      await OutputStream.standardError.write("haul: \(name): \(reason)\n")
      return .failed
    }
    if !plan.quiet {
      let algorithm = plan.checksum.algorithm.rawValue
      await OutputStream.standardError.write("\(name): \(algorithm) is right\n")
    }
    return .completed
  }
}

import HaulCore
import HaulKit

/// Runs `haul verify`.
struct VerifySession {
  let plan: VerifyPlan

  func run() async -> ExitStatus {
    let name = Messages.shown(plan.path)
    do {
      try await FileVerifier.verify(path: plan.path, checksums: plan.checksums)
    } catch {
      let reason = Messages.shown(error.commandLineText)
      await OutputStream.standardError.write("haul: \(name): \(reason)\n")
      return .failed
    }
    if !plan.quiet {
      let algorithms = plan.checksums.map(\.algorithm.rawValue).joined(separator: ", ")
      let verb = plan.checksums.count == 1 ? "matches" : "match"
      await OutputStream.standardError.write("\(name): \(algorithms) \(verb)\n")
    }
    return .completed
  }
}

import HaulControl
import HaulCore

/// What a command does with the daemon.
struct ControlSession {
  let client: ControlClient
  let location: ControlLocation
  let context: ProcessContext

  func isEmpty(_ group: String) async -> ExitStatus {
    await OutputStream.fail("no transfer is in the group '\(group)'")
  }

  /// Whether the dependency that blocks it is no longer in the list.
  func isRemoved(_ wait: TransferDocument.Wait?) async -> Bool {
    guard wait?.isBlocked == true, let dependency = wait?.transfer else { return false }
    do throws(ControlClient.Failure) {
      _ = try await client.transfer("\(dependency)")
    } catch {
      if case .refused(let problem) = error { return problem.status == 404 }
    }
    return false
  }
}

import HaulControl
import HaulCore

/// What a command asks of the daemon.
struct ControlPlan: CommandPlan {
  /// True if it waits for transfers: nothing has failed when the daemon ends first.
  var waits = false
  /// True if another version of the daemon is reported.
  var comparesVersions = true
  /// Another state directory than that of this user.
  var directory: String?
  let perform: @Sendable (ControlSession) async throws -> ExitStatus

  func run(in context: ProcessContext) async -> ExitStatus {
    do {
      let location = try ControlLocation.of(directory, context.environment)
      return try await ControlClient.with(location) { client in
        do {
          let status = try await perform(
            ControlSession(client: client, location: location, context: context))
          await compareVersions(client)
          return status
        } catch {
          await compareVersions(client)
          throw error
        }
      }
    } catch let failure as ControlClient.Failure {
      return await report(failure)
    } catch {
      return await OutputStream.fail(error)
    }
  }

  private func report(_ failure: ControlClient.Failure) async -> ExitStatus {
    switch failure {
    case .notRunning:
      await OutputStream.fail("the daemon is not running; start it with: haul daemon start")
    case .broken(let why): await OutputStream.fail(why, with: waits ? .stopped : .failed)
    case .refused(let problem):
      await OutputStream.fail(
        problem.detail, with: waits && problem.status == 503 ? .stopped : .failed)
    }
  }

  private func compareVersions(_ client: ControlClient) async {
    guard comparesVersions, let version = client.daemonVersion, version != HaulVersion.text else {
      return
    }
    await OutputStream.warn(
      "the daemon has version \(version), this is \(HaulVersion.text); restart it with: "
        + "haul daemon restart")
  }
}

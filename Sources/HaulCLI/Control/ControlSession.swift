import HaulControl

/// What a command does with the daemon.
struct ControlSession {
  let client: ControlClient
  let location: ControlLocation
  let context: ProcessContext

  func isEmpty(_ group: String) async -> ExitStatus {
    await OutputStream.fail("no transfer is in the group '\(group)'")
  }
}

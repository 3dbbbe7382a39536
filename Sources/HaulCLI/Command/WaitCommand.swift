import ArgumentParser
import HaulControl

struct WaitCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "wait",
    abstract: "Waits until transfers have ended or are paused.",
    discussion: """
      Exit status: 0 all completed; 1 at least one failed; 3 nothing failed, and at least one is \
      paused or blocked, or was cancelled or removed.
      """)
  @OptionGroup var transfers: SelectionOptions

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    let selection = try transfers.selection()
    return ControlPlan(waits: true) { session in
      let answer = try await session.client.wait(for: selection)
      if answer.isSettled, answer.count == 0, let group = selection.group {
        return await session.isEmpty(group)
      }
      if answer.failed > 0 { return .failed }
      return answer.paused + answer.cancelled + answer.removed > 0 ? .stopped : .completed
    }
  }
}

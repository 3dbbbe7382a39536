import ArgumentParser
import HaulControl

struct SuspendCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "suspend",
    abstract: "Lets no transfer start until 'haul unsuspend'; running ones continue.")

  func plan(_ sources: CommandSources) -> any CommandPlan {
    ControlPlan { session in
      try await session.client.setSuspended(true)
      return .completed
    }
  }
}

struct UnsuspendCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "unsuspend", abstract: "Ends 'haul suspend': transfers start again.")

  func plan(_ sources: CommandSources) -> any CommandPlan {
    ControlPlan { session in
      try await session.client.setSuspended(false)
      return .completed
    }
  }
}

/// What `haul serve` runs with.
package struct ServePlan: Hashable, Sendable {
  package var limits: EngineLimits
  package var verbose: Bool
}

extension ServePlan {
  /// - Throws: when options contradict each other or a value is wrong; nothing was started.
  init(_ command: ServeCommand, _ sources: CommandSources) throws(UsageError) {
    limits = try EngineLimits(command.speed, command.network)
    verbose = command.verbose ?? false
  }
}

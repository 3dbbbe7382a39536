import HaulCLI
import HaulCore
import Testing

extension Invocation {
  /// Parses a command line with only these files.
  static func plan(
    _ arguments: [String], reading read: @escaping @Sendable (String) throws(UsageError) -> String
  ) throws(UsageError) -> any CommandPlan {
    let sources = CommandSources(read: { (path, _) throws(UsageError) in try read(path) })
    return try plan(arguments, from: sources)
  }
}

/// Parses a command line without files.
func invocation(_ arguments: [String]) throws(UsageError) -> any CommandPlan {
  try Invocation.plan(arguments) { (path) throws(UsageError) in
    throw UsageError("no file \(path)")
  }
}

func getPlan(_ arguments: String...) throws -> GetPlan {
  guard let plan = try invocation(["get"] + arguments) as? GetPlan else {
    throw UsageError("that is not a get")
  }
  return plan
}

/// The message that refuses the command line; nil if it is accepted.
func refusal(_ arguments: [String]) -> String? {
  do {
    _ = try invocation(arguments)
    return nil
  } catch {
    return error.message
  }
}

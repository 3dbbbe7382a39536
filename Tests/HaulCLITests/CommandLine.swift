import HaulCLI
import HaulCore
import Testing

extension Invocation {
  /// Reads a command line with these files and nothing else.
  init(
    _ arguments: [String], reading read: @escaping (String) throws(UsageError) -> String
  ) throws(UsageError) {
    let sources = CommandSources(read: { (path, _) throws(UsageError) in try read(path) })
    try self.init(arguments, from: sources)
  }
}

/// Reads a command line; there are no files.
func invocation(_ arguments: [String]) throws(UsageError) -> Invocation {
  try Invocation(arguments) { (path) throws(UsageError) in
    throw UsageError("no file \(path)")
  }
}

func getPlan(_ arguments: String...) throws -> GetPlan {
  guard case .get(let plan) = try invocation(["get"] + arguments) else {
    throw UsageError("that is not a get")
  }
  return plan
}

/// The message with which the command line is refused; nil when it is not.
func refusal(_ arguments: [String]) -> String? {
  do {
    _ = try invocation(arguments)
    return nil
  } catch {
    return error.message
  }
}

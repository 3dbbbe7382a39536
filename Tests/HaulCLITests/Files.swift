import HaulCLI
import HaulCore
import Testing

/// Only these files; `-` is standard input.
func sources(
  _ files: [String: String] = [:], environment: [String: String] = [:], wallSeconds: Double = 0,
  password: String? = nil
) -> CommandSources {
  CommandSources(
    environment: environment, wallSeconds: wallSeconds,
    read: { (path, _) throws(UsageError) in files[path] },
    askPassword: { (_) throws(UsageError) in password })
}

/// The plan of `get` with these arguments.
func plan(_ arguments: [String], _ sources: CommandSources) throws -> GetPlan {
  guard let plan = try Invocation.plan(["get"] + arguments, from: sources) as? GetPlan else {
    throw UsageError("that is not a get")
  }
  return plan
}

/// The message that refuses `get` with these arguments; nil if they are accepted.
func refusal(_ arguments: [String], _ sources: CommandSources) -> String? {
  refusal(["get"] + arguments, of: sources)
}

/// The message that refuses a whole command line; nil if it is accepted.
func refusal(_ arguments: [String], of sources: CommandSources) -> String? {
  do {
    _ = try Invocation.plan(arguments, from: sources)
    return nil
  } catch {
    return error.message
  }
}

extension DownloadRequest {
  /// The value of the only field with that name.
  func header(_ name: String) -> String? {
    let values = headers.filter { $0.name == name }.map(\.value)
    return values.count == 1 ? values[0] : values.isEmpty ? nil : "\(values.count) fields"
  }
}

import ArgumentParser
import HaulControl
import HaulCore

/// Where a command reads the list.
struct StateDirectoryOption: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The state directory of the daemon (default: $XDG_STATE_HOME/haul, or ~/.local/state/haul).",
      valueName: "DIR"),
    completion: .directory)
  var stateDir: String?

  /// - Throws: for a path that is not absolute.
  func path() throws(UsageError) -> String? {
    guard stateDir?.isAbsolutePath ?? true else {
      throw UsageError("--state-dir needs the absolute path of a directory")
    }
    return stateDir
  }
}

extension ControlLocation {
  /// - Parameter directory: nil for that of this user.
  static func of(
    _ directory: String?, _ environment: [String: String]
  ) throws(TransferError) -> ControlLocation {
    guard let directory else { return try ControlLocation(environment: environment) }
    return try ControlLocation(directory: directory)
  }
}

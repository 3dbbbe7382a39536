package import HaulControl
import HaulCore

/// What `haul serve` runs with.
package struct ServePlan: Hashable, Sendable {
  package var managerOptions: ManagerOptions
  package var remote: RemoteAccess
  /// Whether a public host may redirect to a private address.
  package var allowsPrivateRedirects: Bool
  package var verbose: Bool
  package var notices = NoticeSettings()
}

extension ServePlan {
  /// - Throws: when options contradict each other or a value is wrong; nothing was started.
  init(_ command: ServeCommand, _ sources: CommandSources) throws(UsageError) {
    managerOptions = try ManagerOptions(command.speed, command.network)
    (verbose, allowsPrivateRedirects) = (
      command.verbose ?? false, command.privateRedirects ?? false
    )
    notices = try NoticeSettings(command.notices, sources)
    let roots = command.root.isEmpty ? try Self.downloads(sources.environment) : command.root
    guard roots.allSatisfy(\.isAbsolutePath) else {
      throw UsageError("--root needs the absolute path of a directory")
    }
    remote =
      try command.listen.map { (text) throws(UsageError) in try Self.remote(text, roots) }
      ?? RemoteAccess(host: "127.0.0.1", port: nil, roots: roots)
  }

  private static func remote(
    _ text: String, _ roots: [String]
  ) throws(UsageError) -> RemoteAccess {
    let parts = text.byteSplit(separator: ":", omittingEmptySubsequences: false)
    let host = parts.dropLast().joined(separator: ":")
    guard let port = parts.last.flatMap({ UInt16($0) }), parts.count > 1,
      ["127.0.0.1", "localhost", "[::1]"].contains(host)
    else {
      throw UsageError(
        "--listen \(text): give 127.0.0.1:PORT or [::1]:PORT; to reach the daemon from another "
          + "machine, use ssh -L")
    }
    return RemoteAccess(
      host: host == "[::1]" ? "::1" : host == "localhost" ? "127.0.0.1" : host, port: Int(port),
      roots: roots)
  }

  /// The usual directory of downloads; the user may have chosen another one for programs.
  private static func downloads(_ environment: [String: String]) throws(UsageError) -> [String] {
    if let chosen = environment["XDG_DOWNLOAD_DIR"], chosen.isAbsolutePath { return [chosen] }
    return (environment["HOME"]).map { ["\($0)/Downloads"] } ?? []
  }
}

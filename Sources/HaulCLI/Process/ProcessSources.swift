import FoundationEssentials
import HaulCore
import HaulKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

extension CommandSources {
  /// The real sources. Standard input is read only once, and kept for further requests.
  static func process() -> CommandSources {
    var standardInput: String?
    return CommandSources(
      environment: ProcessInfo.processInfo.environment, wallSeconds: SystemClock().wallSeconds,
      read: { (path, purpose) throws(UsageError) in
        guard path == "-", purpose == .list else {
          return try SourceFile.text(of: path, for: purpose)
        }
        if let standardInput { return standardInput }
        standardInput = try SourceFile.text(from: STDIN_FILENO, purpose)
        return standardInput
      },
      askPassword: { (user) throws(UsageError) in try PasswordPrompt.ask(for: user) },
      tree: { (path) throws(UsageError) in try UploadTree.read(path) },
      // What the program itself has opened by now is closed in the programs that it starts.
      isOpen: {
        fcntl($0, F_GETFD) & FD_CLOEXEC == 0 && fcntl($0, F_GETFL) & O_ACCMODE != O_WRONLY
      })
  }
}

import FoundationEssentials
import HaulCore
import HaulKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

extension CommandSources {
  /// The real sources. What may be a pipe is read only once, and kept for further use: standard
  /// input, and files of header fields.
  static func process() -> CommandSources {
    var standardInput: String?
    var headers: [String: String] = [:]
    return CommandSources(
      environment: ProcessInfo.processInfo.environment, wallSeconds: SystemClock().wallSeconds,
      read: { (path, purpose) throws(UsageError) in
        switch purpose {
        case .list where path == "-":
          if let standardInput { return standardInput }
          standardInput = try SourceFile.text(from: STDIN_FILENO, purpose)
          return standardInput
        case .headers:
          if let known = headers[path] { return known }
          headers[path] = try SourceFile.text(of: path, for: purpose)
          return headers[path]
        default: return try SourceFile.text(of: path, for: purpose)
        }
      },
      askPassword: { (user) throws(UsageError) in try PasswordPrompt.ask(for: user) },
      tree: { (path) throws(UsageError) in try UploadTree.read(path) },
      // What the program itself has opened by now is closed in the programs that it starts.
      isOpen: {
        fcntl($0, F_GETFD) & FD_CLOEXEC == 0 && fcntl($0, F_GETFL) & O_ACCMODE != O_WRONLY
      })
  }
}

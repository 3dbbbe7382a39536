import FoundationEssentials
import HaulCore
import HaulKit
import HaulLibC
import Synchronization

extension CommandSources {
  /// The real sources. What may be a pipe is read only once, and kept for further use: standard
  /// input, and files of header fields. So is a password that was asked for.
  static func process() -> CommandSources {
    let standardInput = ListFile(STDIN_FILENO, ProcessInfo.processInfo.environment)
    let headers = Mutex([String: String]())
    let passwords = Mutex([String: String]())
    let piped = Mutex(String?.none)
    var sources = CommandSources(
      environment: ProcessInfo.processInfo.environment, wallSeconds: SystemClock().wallSeconds,
      read: { (path, purpose) throws(UsageError) in
        if path == "-", [.bearer, .password, .cookies, .headers, .checksums].contains(purpose) {
          return try piped.withLock { (piped) throws(UsageError) in
            if piped == nil { piped = try SourceFile.text(from: STDIN_FILENO, purpose) }
            return piped
          }
        }
        switch purpose {
        case .headers:
          return try headers.withLock { (headers) throws(UsageError) in
            if let known = headers[path] { return known }
            headers[path] = try SourceFile.text(of: path, for: purpose)
            return headers[path]
          }
        default: return try SourceFile.text(of: path, for: purpose)
        }
      },
      askPassword: { (user) throws(UsageError) in
        try passwords.withLock { (passwords) throws(UsageError) in
          if let known = passwords[user] { return known }
          passwords[user] = try PasswordPrompt.ask("Password for \(user): ", "--user \(user)")
          return passwords[user]
        }
      },
      tree: { (path, links) throws(UsageError) in try UploadTree.read(path, links) },
      // What the program itself has opened by now is closed in the programs that it starts.
      isOpen: {
        fcntl($0, F_GETFD) & FD_CLOEXEC == 0 && fcntl($0, F_GETFL) & O_ACCMODE != O_WRONLY
      })
    let environment = sources.environment
    sources.list = { (path) throws(UsageError) in
      if path == "-" { return ListText(standardInput.read) }
      let descriptor = try SourceFile.open(path, for: .list)
      return descriptor.map { ListText(ListFile($0, environment).read) }
    }
    return sources
  }
}

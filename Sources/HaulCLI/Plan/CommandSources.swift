import HaulCore

/// Input from outside the command line, read before anything starts. Tests replace the real
/// sources.
package struct CommandSources {
  /// What a file is read for. It determines the largest size, and whether others may read the file.
  package enum Purpose: Hashable, Sendable {
    case headers, password, bearer, netrc, cookies, list, configuration, webhookSecret
    /// Files of the AWS tools: access keys, and what is not secret.
    case accessKeys, awsConfiguration
    /// A configuration file that names a program.
    case programs
    /// The proof of a role, which is read again while transfers wait.
    case token

    /// Whether the file is refused when others could read it.
    package var isSecret: Bool {
      switch self {
      case .password, .bearer, .netrc, .webhookSecret, .accessKeys: true
      case .headers, .cookies, .list, .configuration, .programs, .awsConfiguration, .token: false
      }
    }

    /// Whether the file is refused when others could change it.
    package var isTrusted: Bool { self == .programs }

    /// Whether only some of its lines are needed: in the others, text that is not UTF-8 does no
    /// harm. In a line that is not UTF-8, each byte outside ASCII is read as a NUL.
    package var toleratesBytes: Bool { self == .cookies || self == .netrc }

    /// The most bytes that are read.
    package var maximumSize: Int {
      switch self {
      case .headers, .password, .bearer, .netrc, .configuration, .webhookSecret, .programs,
        .accessKeys, .awsConfiguration, .token:
        1 << 20
      case .cookies: 16 << 20
      case .list: 64 << 20
      }
    }
  }

  package typealias Reader = (_ path: String, _ purpose: Purpose) throws(UsageError) -> String?

  package var environment: [String: String]
  /// Seconds since 1970, to find expired cookies.
  package var wallSeconds: Double
  /// The text of a file (for a list, `-` is standard input); nil if it does not exist.
  package var read: Reader
  /// Asks for the password of a user, without echo; nil without a terminal.
  package var askPassword: (_ user: String) throws(UsageError) -> String?
  /// What a directory contains; nil if the path is no directory.
  package var tree: (_ path: String) throws(UsageError) -> UploadTree?
  /// Whether the program was given this open descriptor, and can read from it.
  package var isOpen: (_ descriptor: Int32) -> Bool

  package init(
    environment: [String: String] = [:], wallSeconds: Double = 0,
    read: @escaping Reader = { (_, _) throws(UsageError) in nil },
    askPassword: @escaping (_ user: String) throws(UsageError) -> String? = {
      (_) throws(UsageError) in nil
    },
    tree: @escaping (_ path: String) throws(UsageError) -> UploadTree? = {
      (_) throws(UsageError) in nil
    },
    isOpen: @escaping (_ descriptor: Int32) -> Bool = { _ in true }
  ) {
    self.environment = environment
    self.wallSeconds = wallSeconds
    self.read = read
    self.askPassword = askPassword
    self.tree = tree
    self.isOpen = isOpen
  }
}

extension CommandSources {
  /// The text of a file that must exist.
  /// - Parameter name: the option and the path, for messages.
  func text(
    of path: String, for purpose: Purpose, named name: String
  ) throws(UsageError) -> String {
    guard !path.isEmpty, !path.hasBytes("\0") else {
      throw UsageError("\(name): the file's name is empty or has a NUL")
    }
    let text: String?
    do {
      text = try read(path, purpose)
    } catch {
      throw UsageError("\(name): \(error.message)")
    }
    guard let text else { throw UsageError("\(name): there is no such file") }
    return text
  }
}

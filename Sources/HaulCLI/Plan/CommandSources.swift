import HaulCore

/// Input from outside the command line, read before anything starts. Tests replace the real
/// sources.
package struct CommandSources: Sendable {
  /// What a file is read for. It determines the largest size, and whether others may read the file.
  package enum Purpose: Hashable, Sendable {
    /// A token that is read again while transfers wait.
    case bearerAgain
    case headers, password, bearer, netrc, cookies, list, configuration, webhookSecret
    /// Files of the AWS tools: access keys, and what is not secret.
    case accessKeys, awsConfiguration
    /// A configuration file that names a program.
    case programs
    /// The proof of a role, which is read again while transfers wait.
    case token
    case checksums

    /// Whether the file is refused when others could read it.
    package var isSecret: Bool {
      switch self {
      case .password, .bearer, .bearerAgain, .netrc, .webhookSecret, .accessKeys: true
      case .headers, .cookies, .list, .configuration, .programs, .awsConfiguration, .token,
        .checksums:
        false
      }
    }

    /// Whether it must be a regular file, for which nobody waits.
    package var isReadAgain: Bool { self == .token || self == .bearerAgain }

    /// Whether the file is refused when others could change it.
    package var isTrusted: Bool { self == .programs }

    /// Whether only some of its lines are needed: in the others, text that is not UTF-8 does no
    /// harm. In a line that is not UTF-8, each byte outside ASCII is read as a NUL.
    package var toleratesBytes: Bool { [.cookies, .netrc, .checksums].contains(self) }

    /// The most bytes that are read.
    package var maximumSize: Int {
      switch self {
      case .headers, .password, .bearer, .bearerAgain, .netrc, .configuration, .webhookSecret,
        .programs, .accessKeys, .awsConfiguration, .token:
        1 << 20
      case .cookies: 16 << 20
      case .checksums: ChecksumList.maximumSize
      case .list: 4 << 30
      }
    }
  }

  package typealias Reader =
    @Sendable (_ path: String, _ purpose: Purpose) throws(UsageError) -> String?
  package typealias TreeReader =
    @Sendable (_ path: String, _ links: UploadTree.Links) throws(UsageError) -> UploadTree?

  package var environment: [String: String]
  /// Seconds since 1970, to find expired cookies.
  package var wallSeconds: Double
  /// The text of a file; nil if it does not exist.
  package var read: Reader
  /// A list, `-` for standard input; nil if it does not exist.
  package var list: @Sendable (_ path: String) throws(UsageError) -> ListText?
  /// The lists that servers have sent, by their addresses.
  var fetched: [String: ListText] = [:]
  /// What the configuration file has for some servers.
  var servers = ServerSettings()
  /// The lists of digests that servers have sent, by their addresses.
  var checksumLists: [String: ChecksumLists.Fetched] = [:]
  /// What was found beside the files of `--checksum-from`; nil before it was looked for.
  var neighbours: NeighbourChecksums?
  /// The addresses that patterns of the command line stand for.
  var expanded = ExpandedAddresses()
  /// The copies of manifests that are in stores, by their addresses.
  var manifests: [String: String] = [:]
  /// The manifests that stores have sent to be read, by their addresses.
  var sent: [String: SentText] = [:]
  /// The addresses below the prefixes that were listed.
  var below: [String: [String]] = [:]
  /// Asks for the password of a user, without echo; nil without a terminal.
  package var askPassword: @Sendable (_ user: String) throws(UsageError) -> String?
  /// What a directory contains; nil if the path is no directory.
  package var tree: TreeReader
  /// Whether the program was given this open descriptor, and can read from it.
  package var isOpen: @Sendable (_ descriptor: Int32) -> Bool
  /// How many transfers are in memory at once: some megabytes, and enough that a host which is
  /// slow seldom has all of them.
  package var window = 4096

  package init(
    environment: [String: String] = [:], wallSeconds: Double = 0,
    read: @escaping Reader = { (_, _) throws(UsageError) in nil },
    askPassword: @escaping @Sendable (_ user: String) throws(UsageError) -> String? = {
      (_) throws(UsageError) in nil
    },
    tree: @escaping TreeReader = { (_, _) throws(UsageError) in nil },
    isOpen: @escaping @Sendable (_ descriptor: Int32) -> Bool = { _ in true }
  ) {
    self.environment = environment
    self.wallSeconds = wallSeconds
    self.read = read
    list = { (path) throws(UsageError) in try read(path, .list).map { ListText($0) } }
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
    try existing(path, name) { (path) throws(UsageError) in try read(path, purpose) }
  }

  /// A list that must exist.
  func list(at path: String, named name: String) throws(UsageError) -> ListText {
    if let text = fetched[path] { return text }
    return try existing(path, name, list)
  }

  private func existing<Content>(
    _ path: String, _ name: String, _ read: (String) throws(UsageError) -> Content?
  ) throws(UsageError) -> Content {
    guard !path.isEmpty, !path.hasBytes("\0") else {
      throw UsageError("\(name): the file's name is empty or has a NUL")
    }
    guard let content = try UsageError.checked(read(path), at: name) else {
      throw UsageError("\(name): there is no such file")
    }
    return content
  }
}

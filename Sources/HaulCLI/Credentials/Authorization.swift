import FoundationEssentials
import HaulCore

/// The `Authorization` header field for each address, from the credential options.
struct Authorization {
  private enum Source {
    case none
    /// The same value for every address, and the file that it comes from.
    case bearer(String, file: String?)
    /// The user's password if known; otherwise it comes from the netrc file or a prompt.
    case user(String, password: String?)
    case netrc
  }

  private let source: Source
  /// Whether each host has its own.
  private var isOfHosts: Bool { if case .netrc = source { true } else { false } }

  private let netrc: Netrc?
  /// Whether it was asked for, and not only searched for the password of --user.
  private let usesNetrc: Bool
  private let sources: CommandSources
  private var asked: String?

  init(
    _ options: CredentialOptions, headers: [HeaderArgument.Field], _ sources: CommandSources
  ) throws(UsageError) {
    try Self.checkUse(of: options, headers: headers)
    self.sources = sources
    usesNetrc = options.netrc == true
    if let bearer = try SecretFile.bearer(options, sources) {
      source = .bearer(bearer, file: SecretFile.lastingBearer(options))
      netrc = nil
    } else if let user = options.user {
      let password = try SecretFile.password(in: options.passwordFile, sources)
      source = .user(user, password: password)
      netrc =
        options.netrc == true || password == nil
        ? try SecretFile.netrc(sources, isRequired: options.netrc == true) : nil
    } else {
      source = options.netrc == true ? .netrc : .none
      netrc = options.netrc == true ? try SecretFile.netrc(sources, isRequired: true) : nil
    }
  }

  /// For standard error: what was left out of the netrc file.
  var notes: [String] {
    guard let skipped = netrc?.skipped else { return [] }
    let path = SecretFile.netrcPath(sources.environment) ?? ""
    return ["netrc file \(path): line \(skipped.line) was left out: \(skipped.message)"]
  }

  /// Adds the field, unless the request has one from a list.
  /// - Parameter isTrusted: whether the address gets more than what is for its host.
  mutating func apply(to request: inout DownloadRequest, isTrusted: Bool = true) throws(UsageError)
  {
    guard isTrusted || isOfHosts else { return }
    guard request.headers["Authorization"] == nil, let value = try value(for: request.url) else {
      return
    }
    request.headers.append("Authorization", value)
    if case .bearer(_, let file) = source { request.bearerFile = file }
  }

  /// --netrc adds the entries for hosts that servers name later.
  func add(to session: inout RunSession) {
    guard usesNetrc, let netrc else { return }
    session.logins = netrc.logins
  }

  /// The value for the address; nil if there is none, or if the address has its own.
  private mutating func value(for url: ResourceURL) throws(UsageError) -> String? {
    let host = url.origin.host
    switch source {
    case .none:
      return nil
    case .netrc:
      let own = url.credentials
      guard own?.password.isEmpty ?? true, let found = try listed(host, own?.user) else {
        return nil
      }
      return Self.basic(found.user, found.password)
    case .bearer(let value, _):
      try Self.refuseOwn(of: url, with: "a bearer token")
      return value
    case .user(let user, let known):
      try Self.refuseOwn(of: url, with: "--user")
      if let known { return Self.basic(user, known) }
      if let found = try listed(host, user) { return Self.basic(user, found.password) }
      return Self.basic(user, try ask(for: user))
    }
  }

  /// What the netrc file has for the host.
  private func listed(
    _ host: String, _ user: String?
  ) throws(UsageError) -> (user: String, password: String)? {
    do {
      return try netrc?.credentials(host: host, user: user)
    } catch {
      let path = SecretFile.netrcPath(sources.environment) ?? ""
      throw UsageError(
        "netrc file \(path): line \(error.line): in the entry for \(host): \(error.message)")
    }
  }

  private mutating func ask(for user: String) throws(UsageError) -> String {
    if let asked { return asked }
    guard let answer = try sources.askPassword(user) else {
      throw UsageError(
        "--user \(user): there is no password, and no terminal to ask for it; use "
          + "--password-file, HAUL_PASSWORD or the netrc file")
    }
    asked = answer
    return answer
  }

  private static func refuseOwn(of url: ResourceURL, with option: String) throws(UsageError) {
    guard url.credentials != nil else { return }
    throw UsageError("\(url.redacted): the address has a user name, and so has \(option)")
  }

  /// The `Basic` scheme of RFC 7617.
  private static func basic(_ user: String, _ password: String) -> String {
    "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
  }
}

extension Authorization {
  private static func checkUse(
    of options: CredentialOptions, headers: [HeaderArgument.Field]
  ) throws(UsageError) {
    let given = [
      ("--user", options.user != nil), ("--bearer-file", options.bearerFile != nil),
      ("--bearer-env", options.bearerEnv != nil),
      ("-H Authorization", headers.contains { $0.name.lowercased() == "authorization" }),
    ].filter(\.1).map(\.0)
    if given.count > 1 {
      throw UsageError("\(given[0]) and \(given[1]) contradict each other")
    }
    if options.netrc == true, let other = given.first, other != "--user" {
      throw UsageError("\(other) and --netrc contradict each other")
    }
    if options.passwordFile != nil, options.user == nil {
      throw UsageError("--password-file needs --user")
    }
    guard let user = options.user else { return }
    guard !user.hasBytes(":") else {
      throw UsageError(
        "--user takes a name only, without ':'; the password comes from --password-file, "
          + "HAUL_PASSWORD or the netrc file, or is asked for")
    }
    guard !user.isEmpty, user.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw UsageError("--user: the name is empty or has a control character")
    }
  }
}

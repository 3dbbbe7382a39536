import ArgumentParser
import HaulCore

/// What `[host NAME]` sections of the configuration file have: credentials and header fields, each
/// for one server.
struct ServerSettings: Sendable {
  struct Section: Sendable {
    var credentials: CredentialOptions
    /// As `-H` has them.
    var headers: [String] = []
    /// For messages: the file and the host.
    let name: String
  }

  private(set) var sections: [ResourceURL.Origin: Section] = [:]
  /// Subjects of lines that the command line overrides.
  private var given: Set<String> = []

  init() {}

  /// - Throws: for a value that is none.
  init(_ file: SettingsFile, given: Set<String>) throws(UsageError) {
    self.given = given
    var words: [ResourceURL.Origin: [String]] = [:]
    for entry in file.entries {
      guard let origin = entry.origin, let value = entry.value else { continue }
      let name = "\(file.path): [host \(origin.authority)]"
      let known = sections[origin]?.headers ?? []
      words[origin, default: []] += entry.key == "header" ? [] : ["--\(entry.key)=\(value)"]
      sections[origin] = Section(
        credentials: try CredentialOptions.with(words[origin] ?? [], named: name),
        headers: entry.key == "header" ? known + [value] : known, name: name)
    }
  }

  /// A section of a host over https.
  fileprivate func secure(for host: String) -> Section? {
    sections.filter { $0.key.scheme == "https" && $0.key.host.isByteEqual(host) }
      .min { $0.key.port < $1.key.port }?.value
  }

  /// Whether the command line has credentials of its own.
  fileprivate var isAuthorized: Bool { given.contains(Settings.subject(ofHeader: "authorization")) }
  fileprivate var hasCookies: Bool { given.contains(Settings.subject(ofHeader: "cookie")) }
}

extension CredentialOptions {
  /// These options alone.
  static func with(_ words: [String], named name: String) throws(UsageError) -> CredentialOptions {
    do {
      return try parse(words)
    } catch {
      throw UsageError("\(name): \(ParserMessage.line(message(for: error)))")
    }
  }
}

/// Credentials that are not those of the whole command: of a server's section, or of a row.
struct OwnCredentials: Sendable {
  private let headers: [HeaderArgument.Field]
  private var authorization: Authorization
  private let cookies: CookieField

  init(
    _ options: CredentialOptions, _ headers: [String], _ sources: CommandSources
  ) throws(UsageError) {
    var fields: [HeaderArgument.Field] = []
    for text in headers { fields += try HeaderArgument.fields(text, sources) }
    self.headers = fields
    authorization = try Authorization(options, headers: fields, sources)
    cookies = try CookieField(options, headers: fields, sources)
  }

  /// Adds what the request does not have yet.
  mutating func apply(
    to request: inout DownloadRequest, authorizing: Bool = true, addingCookies: Bool = true
  ) throws(UsageError) {
    for field in headers where request.headers[field.name] == nil {
      let name = field.name.lowercased()
      guard name != "authorization" || authorizing, name != "cookie" || addingCookies else {
        continue
      }
      request.headers.append(field.name, field.value)
    }
    // An address may have a user name of its own.
    if authorizing, request.url.credentials == nil { try authorization.apply(to: &request) }
    if addingCookies { try cookies.apply(to: &request) }
  }
}

/// Adds what the sections of servers have to requests.
struct ServerCredentials: Sendable {
  private let sources: CommandSources
  private var known: [ResourceURL.Origin: OwnCredentials] = [:]
  /// Origins of which the sections were looked at, in their order.
  private var unserved: [(origin: ResourceURL.Origin, note: String)] = []
  private var lastUnserved: ResourceURL.Origin?

  /// For the user: what goes to a host that has a section, which does not count for it.
  var notes: [String] { unserved.map(\.note) }

  init(_ sources: CommandSources) { self.sources = sources }

  mutating func apply(to request: inout DownloadRequest) throws(UsageError) {
    let (origin, settings) = (request.url.origin, sources.servers)
    guard let section = settings.sections[origin] else { return note(request) }
    do throws(UsageError) {
      if known[origin] == nil {
        known[origin] = try OwnCredentials(section.credentials, section.headers, sources)
      }
      try known[origin]?.apply(
        to: &request, authorizing: !settings.isAuthorized, addingCookies: !settings.hasCookies)
    } catch {
      throw UsageError("\(section.name): \(error.message)")
    }
  }

  /// A section for https does not count for http, where all can read what it has: that is said
  /// once.
  private mutating func note(_ request: DownloadRequest) {
    let origin = request.url.origin
    guard origin.scheme == "http", origin != lastUnserved,
      let section = sources.servers.secure(for: origin.host)
    else { return }
    lastUnserved = origin
    guard !unserved.contains(where: { $0.origin == origin }) else { return }
    unserved.append(
      (
        origin,
        "\(origin) gets nothing of \(section.name), which is for https; for http its name is "
          + "[host \(origin)]"
      ))
  }
}

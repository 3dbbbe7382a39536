/// Which requests use which proxy.
public struct ProxyRules: Hashable, Sendable {
  /// A proxy, nil for none, or why the one that the environment names cannot be used.
  private typealias Choice = Result<Proxy?, TransferError>

  private let http: Choice
  private let https: Choice
  private let exceptions: ProxyExceptions

  /// One proxy for all hosts except `exceptions`, in the syntax of `NO_PROXY`; nil for no proxy.
  public init(_ proxy: Proxy? = nil, exceptions: String = "") {
    http = .success(proxy)
    https = http
    self.exceptions = ProxyExceptions(exceptions)
  }

  /// The proxies in `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`; lower-case names
  /// override upper-case ones. `HTTP_PROXY` is ignored, because a CGI client can set it. A variable
  /// that cannot be read is an error only of transfers that need it: it is for all programs.
  /// - Parameters:
  ///   - given: replaces the first three variables; empty for none.
  ///   - exceptions: replaces `no_proxy`.
  /// - Throws: `proxy` when `given` cannot be read.
  package init(
    environment: [String: String], given: String? = nil, exceptions: String? = nil
  ) throws(TransferError) {
    func value(_ names: String...) -> (name: String, text: String)? {
      names.lazy.compactMap { name in environment[name].map { (name, $0) } }.first
    }
    if let given {
      http = Self.choice(("proxy", given))
      https = http
      _ = try http.get()
    } else {
      http = Self.choice(value("http_proxy", "all_proxy", "ALL_PROXY"))
      https = Self.choice(value("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"))
    }
    self.exceptions = ProxyExceptions(exceptions ?? value("no_proxy", "NO_PROXY")?.text ?? "")
  }

  private static func choice(_ found: (name: String, text: String)?) -> Choice {
    guard let found, !found.text.isEmpty else { return .success(nil) }
    do throws(TransferError) {
      return .success(try Proxy(found.text))
    } catch {
      return .failure(TransferError(.proxy, "\(found.name): \(error.fact)", advice: error.advice))
    }
  }

  /// The proxy for an origin; nil to connect directly.
  /// - Throws: `proxy`, with the name of a variable of the environment that cannot be read.
  package func proxy(for origin: ResourceURL.Origin) throws(TransferError) -> Proxy? {
    try choice(for: origin).get()
  }

  /// Whether requests to this origin use no proxy.
  func isDirect(to origin: ResourceURL.Origin) -> Bool { choice(for: origin) == .success(nil) }

  private func choice(for origin: ResourceURL.Origin) -> Choice {
    if exceptions.contains(origin) { return .success(nil) }
    return origin.scheme == "https" ? https : http
  }
}

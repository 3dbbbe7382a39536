/// Which requests use which proxy.
public struct ProxyRules: Hashable, Sendable {
  private var http: Proxy?
  private var https: Proxy?
  private var exceptions: ProxyExceptions

  /// One proxy for all hosts except `exceptions`, in the syntax of `NO_PROXY`; nil for no proxy.
  public init(_ proxy: Proxy? = nil, exceptions: String = "") {
    http = proxy
    https = proxy
    self.exceptions = ProxyExceptions(exceptions)
  }

  /// The proxies in `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`; lower-case names
  /// override upper-case ones. `HTTP_PROXY` is ignored, because a CGI client can set it.
  /// - Parameters:
  ///   - given: replaces the first three variables; empty for none.
  ///   - exceptions: replaces `no_proxy`.
  /// - Throws: `bad-url`, with the name of the variable.
  package init(
    environment: [String: String], given: String? = nil, exceptions: String? = nil
  ) throws(TransferError) {
    func value(_ names: String...) -> (name: String, text: String)? {
      names.lazy.compactMap { name in environment[name].map { (name, $0) } }.first
    }
    func proxy(_ found: (name: String, text: String)?) throws(TransferError) -> Proxy? {
      guard let found, !found.text.isEmpty else { return nil }
      do {
        return try Proxy(found.text)
      } catch {
        throw TransferError(.badURL, "\(found.name): \(error.message)")
      }
    }
    if let given {
      http = try proxy(("proxy", given))
      https = http
    } else {
      http = try proxy(value("http_proxy", "all_proxy", "ALL_PROXY"))
      https = try proxy(value("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"))
    }
    self.exceptions = ProxyExceptions(exceptions ?? value("no_proxy", "NO_PROXY")?.text ?? "")
  }

  /// The proxy for an origin; nil to connect directly.
  package func proxy(for origin: ResourceURL.Origin) -> Proxy? {
    guard let proxy = origin.scheme == "https" ? https : http, !exceptions.contains(origin) else {
      return nil
    }
    return proxy
  }
}

import Crypto
package import HaulCore

/// Which requests may share a stored response: those for one address that agree in the credentials,
/// and in the fields that `Vary` names (RFC 9111, section 4.1).
package struct ResourceKey: Hashable, Sendable {
  package let url: ResourceURL
  /// Names in lower case, sorted.
  package let selection: [HeaderFields.Field]

  package init(url: ResourceURL, selection: [HeaderFields.Field]) {
    self.url = url.normalized
    self.selection = selection
  }

  /// The key without `Vary`. Every field that is not known to be harmless may be a credential.
  package init(_ request: ResourceRequest) {
    self.init(request, vary: .names([]))
  }

  package init(_ request: ResourceRequest, vary: VaryNames) {
    guard !request.headers.isEmpty else {
      self.init(url: request.url, selection: [])
      return
    }
    guard case .names(let named) = vary else {
      self.init(url: request.url, selection: vary.selection(of: request.headers))
      return
    }
    let own = request.headers.map { $0.name.lowercased() }
      .filter { !Self.harmless.contains($0) }
    let names = VaryNames.names(Set(own).union(named).sorted())
    self.init(url: request.url, selection: names.selection(of: request.headers))
  }

  private static let harmless: Set<String> = [
    "accept", "accept-language", "user-agent", "cache-control", "pragma",
  ]
}

extension ResourceKey {
  /// A digest for file names: it holds no secret in the clear.
  package var digest: String { digest(over: "") }

  /// That of what came over a route: see `ResponseRoute`.
  package func digest(over route: String) -> String {
    // No field has a name with a space.
    Self.digest(of: [("", url.text)] + pairs + (route.isEmpty ? [] : [(" route", route)]))
  }

  /// A digest of an address, whatever the credentials.
  package static func digest(of address: ResourceURL) -> String {
    ResourceKey(url: address.taking(nil), selection: []).digest
  }

  private var pairs: [(String, String)] { selection.map { ($0.name, $0.value) } }

  /// A digest of the fields that `Vary` names.
  package static func digest(of selection: [HeaderFields.Field]) -> String {
    digest(of: selection.map { ($0.name, $0.value) })
  }

  private static func digest(of pairs: [(String, String)]) -> String {
    var hash = SHA256()
    for (name, value) in pairs {
      // The lengths keep one pair from looking like another.
      hash.update(data: Array("\(name.utf8.count),\(value.utf8.count):\(name)\(value)".utf8))
    }
    return hash.finalize().hexDigits
  }
}

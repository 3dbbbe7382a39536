/// Addresses that a server chooses: in `Location`, and in what a record keeps of it.
///
/// Every such address passes `named(by:)`, for downloads and uploads alike. What a request to
/// another origin then lacks follows from `FetchRequest.redirected(to:)` and `SendRequest.namedBy`:
/// header fields, user information, the client certificate, and a certificate check that was
/// switched off; and a public host may not name a private address.
extension ResourceURL {
  /// The address that the server at this address means by a text (RFC 9110, section 10.2.2).
  /// - Throws: `redirect-refused` for an address that cannot be read, has a user name, or leads
  ///   from https to http.
  package func named(by location: String) throws(TransferError) -> ResourceURL {
    let target = try readable(location)
    guard origin.scheme == "http" || target.origin.scheme == "https" else {
      throw TransferError(.redirectRefused, "a redirect from https to http was refused")
    }
    return target
  }

  /// As `named(by:)`, for the target of an upload. A server behind a proxy that ends TLS may name
  /// its own host with http: the upload then goes to the same origin over https.
  /// - Throws: as `named(by:)`.
  package func uploadTarget(named location: String) throws(TransferError) -> ResourceURL {
    let target = try readable(location)
    guard origin.scheme == "https", target.origin.scheme == "http" else {
      return target.adoptingCredentials(of: self)
    }
    guard target.origin.host.isByteEqual(origin.host),
      target.origin.port == 80 || target.origin.port == origin.port
    else {
      throw TransferError(
        .redirectRefused,
        "the server wants the file over http, at \(target.origin.authority)",
        advice: "only https is used")
    }
    return target.at(origin).adoptingCredentials(of: self)
  }

  /// The longest address that a server may name, in bytes. It is kept, and sent back.
  package static let longestNamedAddress = 32 << 10

  private func readable(_ location: String) throws(TransferError) -> ResourceURL {
    guard location.utf8.count <= Self.longestNamedAddress else {
      throw TransferError(
        .redirectRefused,
        "the server names an address of \(location.utf8.count) bytes",
        advice: "at most \(Self.longestNamedAddress) are followed")
    }
    let target: ResourceURL
    do {
      // White space around a value is not a part of it (RFC 9110, section 5.5).
      target = try resolving(String(location.trimmingBytes(" \t")))
    } catch {
      throw TransferError(
        .redirectRefused, "a redirect was refused: \(error.fact)", advice: error.advice)
    }
    guard target.credentials.map({ $0.user.isEmpty && $0.password.isEmpty }) ?? true else {
      throw TransferError(.redirectRefused, "a redirect to an address with a user name was refused")
    }
    // Nothing before an `@` is no user name (RFC 3986, section 3.2.1).
    return target.credentials == nil ? target : target.taking(nil)
  }
}

import HaulCore

/// The server that has a list. What it chooses may do less than what the user writes: it is treated
/// like a redirect.
struct ListServer: Hashable, Sendable {
  let origin: ResourceURL.Origin
  /// Whether it is an S3 store, which is asked with the user's key.
  let isStore: Bool
  /// Whether redirects from another origin led there, which the user has not named.
  var isRedirected = false

  /// Whether a list is asked of a server.
  static func has(_ list: String) -> Bool {
    PutPlan.isS3(list)
      || ["http://", "https://"].contains { list.lowercased().hasBytePrefix($0) }
  }

  /// The name of a list, without what may be a secret.
  static func path(of list: String) -> String {
    guard has(list), !PutPlan.isS3(list) else { return list }
    return String(list.prefix(beforeAnyOf: "?#"))
  }

  /// - Throws: for an address that it must not choose.
  func check(_ item: GetItem) throws(UsageError) {
    guard isStore || item.object == nil else {
      throw refusal("an object that your key would be used for")
    }
    guard isStore || origin.isPrivateLiteral || !item.url.origin.isPrivateLiteral else {
      throw refusal("the private address \(item.url.origin.host)")
    }
    guard !PutPlan.isRemote(item.out) else { throw refusal("where the file is sent") }
  }

  /// A path below the directory of the run.
  func path(_ path: String, _ key: String) throws(UsageError) -> String {
    guard !path.isAbsolutePath, let safe = FileName.path(chosenByServer: path) else {
      throw UsageError("\(key)=\(path): a list of a server names files below the directory alone")
    }
    return safe
  }

  /// Whether the header fields, cookies and passwords of the command are for this address.
  func mayPassCredentials(to url: ResourceURL, trusting hosts: Set<String>) -> Bool {
    !isRedirected && url.origin == origin
      || (url.origin.scheme == "https" && hosts.contains(url.origin.host))
  }

  private func refusal(_ what: String) -> UsageError {
    UsageError(
      "a list of \(origin.authority) must not choose \(what); save the list, read it, and give the "
        + "file")
  }
}

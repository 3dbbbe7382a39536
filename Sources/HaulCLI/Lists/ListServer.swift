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

  /// As a shard has it: `[store|redirect] https://host`.
  var text: String {
    let kind = isStore ? "store " : isRedirected ? "redirect " : ""
    return "\(kind)\(origin.scheme)://\(origin.authority)"
  }

  /// - Parameter url: nil for an object of a store.
  /// - Throws: for an entry that it must not choose.
  func check(_ entry: InputList.Entry, at url: ResourceURL?) throws(UsageError) {
    guard isStore || url != nil else {
      throw refusal("an object that your key would be used for")
    }
    if let url, !isStore, !origin.isPrivateLiteral, url.origin.isPrivateLiteral {
      throw refusal("the private address \(url.origin.host)")
    }
    guard !PutPlan.isRemote(entry.out) else { throw refusal("where the file is sent") }
    guard entry.group == nil else { throw refusal("a group of your queue") }
  }

  /// The server of a list that says of a row that it is that of another one. A shard may be in the
  /// user's store; any other server says nothing for another one.
  func restricted(by other: ListServer) -> ListServer {
    isStore ? ListServer(origin: other.origin, isStore: other.isStore, isRedirected: true) : self
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

extension ListServer {
  /// - Parameter text: as a shard has it.
  init(_ text: String) throws(UsageError) {
    let words = text.byteSplit(separator: " ")
    let kind = words.count == 2 ? String(words[0]) : ""
    guard words.count == 1 || ["store", "redirect"].contains(kind),
      let address = words.last.map({ String($0) }), let url = try? ResourceURL(address)
    else { throw UsageError("list-server: it is written [store|redirect] https://host") }
    (origin, isStore, isRedirected) = (url.origin, kind == "store", kind == "redirect")
  }
}

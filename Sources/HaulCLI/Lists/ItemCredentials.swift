import HaulCore

/// The credentials that a row of a list names for its address.
struct ItemCredentials: Hashable, Sendable {
  private let user: String?
  private let bearerFile: String?
  private let cookieFile: String?

  /// - Throws: for what a list of a server names: its author must not choose files of this machine.
  init(_ entry: InputList.Entry, _ server: ListServer?) throws(UsageError) {
    guard server == nil else {
      throw UsageError(
        "a list of a server must not choose credentials; save the list, read it, and give the file")
    }
    let authorization = Settings.subject(ofHeader: "authorization")
    let fields = entry.headers.map { Settings.subject(ofHeader: $0.text) }
    guard
      [entry.user != nil, entry.bearerFile != nil, fields.contains(authorization)]
        .count(where: { $0 }) <= 1
    else {
      throw UsageError("of user, bearer-file and header=Authorization, an address has one")
    }
    (user, bearerFile, cookieFile) = (
      entry.user?.text, entry.bearerFile?.text, entry.cookieFile?.text
    )
  }

  /// The header fields of the command that they replace.
  var replaced: Set<String> {
    Set(
      [
        user != nil || bearerFile != nil ? "authorization" : nil,
        cookieFile != nil ? "cookie" : nil,
      ].compactMap(\.self))
  }

  /// Reads the files.
  func read(_ sources: CommandSources) throws(UsageError) -> OwnCredentials {
    let given = [("user", user), ("bearer-file", bearerFile), ("cookie-file", cookieFile)]
    let words = given.compactMap { name, value in value.map { "--\(name)=\($0)" } }
    return try OwnCredentials(try CredentialOptions.with(words, named: "its row"), [], sources)
  }
}

extension InputList.Entry {
  var credentials: [InputList.Option?] { [user, bearerFile, cookieFile] }
}

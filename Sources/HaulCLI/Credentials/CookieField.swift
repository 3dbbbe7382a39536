import HaulCore

/// The `Cookie` header field for each address, from the cookie options.
struct CookieField {
  private let given: [String]
  /// It has the cookies of all files: a later one replaces those of the earlier ones.
  private let jar: CookieJar
  /// For standard error: what was left out.
  let notes: [String]
  private let wallSeconds: Double

  init(
    _ options: CredentialOptions, headers: [HeaderArgument.Field], _ sources: CommandSources
  ) throws(UsageError) {
    let isUsed = !options.cookies.isEmpty || !options.cookieFiles.isEmpty
    if isUsed, headers.contains(where: { $0.name.lowercased() == "cookie" }) {
      throw UsageError("-H Cookie and --cookie or --cookie-file contradict each other")
    }
    var given: [String] = []
    for text in options.cookies { given += try Self.pairs(text) }
    self.given = given
    var (jar, notes) = (CookieJar(), [String]())
    for path in options.cookieFiles {
      let file = try Self.file(path, sources)
      if let note = Self.note(on: file, path) { notes.append(note) }
      for cookie in file.jar.cookies { jar.add(cookie) }
    }
    (self.jar, self.notes) = (jar, notes)
    wallSeconds = sources.wallSeconds
  }

  /// The cookies of the files, for the addresses that servers name later.
  func add(to session: inout RunSession) {
    for cookie in jar.cookies where Self.isText(cookie) { session.cookies.add(cookie) }
  }

  /// Adds the field, unless the request has one from a list.
  /// - Parameter isTrusted: whether the address gets more than what is for its host.
  /// - Throws: if the address needs a cookie that cannot be sent.
  func apply(to request: inout DownloadRequest, isTrusted: Bool = true) throws(UsageError) {
    guard request.headers["Cookie"] == nil,
      let value = try value(for: request.url, with: isTrusted ? given : [])
    else { return }
    request.headers.append("Cookie", value)
  }

  /// The value for the address (RFC 6265, section 5.4); nil if no cookie applies.
  private func value(
    for url: ResourceURL, with given: [String]
  ) throws(UsageError) -> String? {
    let cookies = jar.cookies(for: url, at: wallSeconds)
    guard cookies.allSatisfy(Self.isText) else {
      throw UsageError(
        "\(url.redacted): a cookie of --cookie-file for this host has bytes that are not UTF-8 "
          + "text, so it cannot be sent; remove its line from the file")
    }
    let pairs = given + cookies.map(\.pair)
    return pairs.isEmpty ? nil : pairs.joined(separator: "; ")
  }

  /// Whether it can be sent: bytes that are not UTF-8 were read as NUL.
  private static func isText(_ cookie: Cookie) -> Bool { !cookie.pair.hasByte(0) }

  /// The cookies of one `--cookie`, which may have several, as the header field has.
  private static func pairs(_ text: String) throws(UsageError) -> [String] {
    let pairs = text.byteSplit(separator: ";").map { $0.droppingBytes(" ") }.filter { !$0.isEmpty }
    guard !pairs.isEmpty, pairs.allSatisfy({ $0.hasBytes("=") && !$0.hasBytePrefix("=") }) else {
      throw UsageError("--cookie is written 'name=value'; --cookie-file takes a file")
    }
    guard pairs.allSatisfy(Cookie.isSendable) else {
      throw UsageError("--cookie: the cookie has a line break or a control character")
    }
    return pairs.map(String.init)
  }

  private static func note(on file: CookieFile, _ path: String) -> String? {
    guard let first = file.skipped.first else { return nil }
    let others = file.skipped.count > 1 ? ", and \(file.skipped.count - 1) more" : ""
    return "--cookie-file \(path): line \(first.line)\(others) was left out: \(first.message)"
  }

  private static func file(_ path: String, _ sources: CommandSources) throws(UsageError)
    -> CookieFile
  {
    let name = "--cookie-file \(path)"
    let text = try sources.text(of: path, for: .cookies, named: name)
    return try UsageError.checked(CookieFile(text), at: name)
  }
}

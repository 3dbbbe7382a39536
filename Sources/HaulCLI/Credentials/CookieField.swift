import HaulCore

/// The `Cookie` header field for each address, from the cookie options.
struct CookieField {
  private let given: [String]
  private let files: [CookieFile]
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
    var files: [CookieFile] = []
    for path in options.cookieFiles { files.append(try Self.file(path, sources)) }
    self.files = files
    wallSeconds = sources.wallSeconds
  }

  /// Adds the field, unless the request has one from a list.
  func apply(to request: inout DownloadRequest) {
    guard request.fields["Cookie"] == nil, let value = value(for: request.url) else { return }
    request.fields.append("Cookie", value)
  }

  /// The value for the address (RFC 6265, section 5.4); nil if no cookie applies.
  private func value(for url: ResourceURL) -> String? {
    let pairs = given + files.flatMap { $0.pairs(for: url, at: wallSeconds) }
    return pairs.isEmpty ? nil : pairs.joined(separator: "; ")
  }

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

  private static func file(_ path: String, _ sources: CommandSources) throws(UsageError)
    -> CookieFile
  {
    let text = try sources.text(of: path, for: .cookies, named: "--cookie-file \(path)")
    do {
      return try CookieFile(text)
    } catch {
      throw UsageError("--cookie-file \(path): line \(error.line): \(error.message)")
    }
  }
}

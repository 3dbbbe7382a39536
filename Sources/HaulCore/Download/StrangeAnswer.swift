/// A whole answer that seems to be another thing than the bytes on disk, such as a login page: it
/// does not replace them.
enum StrangeAnswer {
  /// Why it is not taken for a new version; nil if it may be one.
  static func error(
    _ body: ResponseBody, _ answer: DownloadMachine.Answer, _ known: Validator, _ url: ResourceURL,
    received: Int64
  ) -> TransferError? {
    guard received > 0, let what = description(body, answer, known, url, received) else {
      return nil
    }
    return Self.error(what)
  }

  /// Why a page does not replace the whole file that an earlier run made; nil if it may.
  static func error(
    _ existing: [DownloadMachine.ExistingFile], replacedWith answer: DownloadMachine.Answer,
    _ url: ResourceURL
  ) -> TransferError? {
    guard answer.isPage, url.namesOtherThanPage, existing.contains(where: \.isOwn) else {
      return nil
    }
    return error("a web page")
  }

  /// A file of no bytes where others were.
  static let empty = error("an empty file")

  private static func error(_ what: String) -> TransferError {
    TransferError(
      .changedOnServer,
      "the server sends \(what) instead of the file: has a login or a link expired? The received "
        + "bytes are kept",
      advice: "start over if that is the file now"
    ).remedied(by: .startingOver)
  }

  private static func description(
    _ body: ResponseBody, _ answer: DownloadMachine.Answer, _ known: Validator,
    _ url: ResourceURL, _ received: Int64
  ) -> String? {
    if answer.isPage, url.namesOtherThanPage { return "a web page" }
    if known.hasFields, !body.validator.hasFields {
      return "something without the entity tag or the date that it had"
    }
    if let total = body.total, total < received / 10 { return "only \(total) bytes" }
    return nil
  }
}

extension ResponseHead {
  /// Whether its body is a page for people.
  var isPage: Bool {
    ["text/html", "application/xhtml+xml"].contains(
      headers["Content-Type"]?.prefix(beforeAnyOf: "; \t").lowercased())
  }
}

extension Validator {
  fileprivate var hasFields: Bool { entityTag != nil || lastModified != nil }
}

extension ResourceURL {
  /// Whether its path ends with an extension that is not that of a page.
  var namesOtherThanPage: Bool {
    let name = path.lastPathName ?? ""
    let end = FileNameParts(name).pathExtension.lowercased()
    return !end.isEmpty && !Self.pageExtensions.contains(end)
  }

  private static let pageExtensions: Set = [
    ".html", ".htm", ".xhtml", ".shtml", ".xht", ".php", ".asp", ".aspx", ".jsp", ".cgi", ".do",
  ]
}

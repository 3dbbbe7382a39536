/// A whole answer that seems to be another thing than the bytes on disk, such as a login page: it
/// does not replace them.
enum StrangeAnswer {
  /// Why it is not taken for a new version; nil if it may be one.
  static func error(
    _ body: ResponseBody, _ answer: DownloadMachine.Answer, _ version: DownloadMachine.Version,
    _ url: ResourceURL, _ plan: SegmentPlan, _ pending: DownloadMachine.Pending?
  ) -> TransferError? {
    // Bytes from another address are expected to differ.
    guard plan.receivedCount > 0, pending != .otherAddress,
      let what = description(body, answer, version.validator, url, plan.receivedCount)
    else { return nil }
    return TransferError(
      .changedOnServer,
      "the server sends \(what) instead of the file: has a login or a link expired? The received "
        + "bytes are kept; start over if that is the file now"
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

extension Validator {
  fileprivate var hasFields: Bool { entityTag != nil || lastModified != nil }
}

extension ResourceURL {
  /// Whether its path ends with an extension that is not that of a page.
  fileprivate var namesOtherThanPage: Bool {
    let name = path.lastPathName ?? ""
    let end = FileNameParts(name).pathExtension.lowercased()
    return !end.isEmpty && !Self.pageExtensions.contains(end)
  }

  private static let pageExtensions: Set = [
    ".html", ".htm", ".xhtml", ".shtml", ".xht", ".php", ".asp", ".aspx", ".jsp", ".cgi", ".do",
  ]
}

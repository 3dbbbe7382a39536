/// A whole answer that seems to be another thing than the bytes on disk, such as a login page: it
/// does not replace them.
enum StrangeAnswer {
  /// Why it is not taken for a new version; nil if it may be one.
  static func error(
    _ body: ResponseBody, isMisplacedPage: Bool, _ known: Validator, received: Int64
  ) -> TransferError? {
    guard received > 0, let what = description(body, isMisplacedPage, known, received) else {
      return nil
    }
    return Self.error(what)
  }

  /// Why a page does not replace the whole file that an earlier run made; nil if it may.
  static func error(
    _ existing: [DownloadMachine.ExistingFile], isMisplacedPage: Bool
  ) -> TransferError? {
    isMisplacedPage && existing.contains(where: \.isOwn) ? error("a web page") : nil
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
    _ body: ResponseBody, _ isMisplacedPage: Bool, _ known: Validator, _ received: Int64
  ) -> String? {
    if isMisplacedPage { return "a web page" }
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
    guard let type = headers["Content-Type"]?.prefix(beforeAnyOf: "; \t").utf8 else {
      return false
    }
    // Byte by byte, without another text: every answer comes here.
    return Self.pageTypes.contains { page in
      type.elementsEqual(page) { FieldScanner.lowercased($0) == $1 }
    }
  }
}

extension Validator {
  fileprivate var hasFields: Bool { entityTag != nil || lastModified != nil }
}

extension ResponseHead {
  /// Whether it is a page although the address, or the name of the file, ends with an extension
  /// that is not that of a page. The file's name does not count if the address is that of a page.
  package func isMisplacedPage(at url: ResourceURL, named fileName: String?) -> Bool {
    // Asked first: every answer comes here, and few are pages.
    guard isPage else { return false }
    let (address, file) = (Self.pathExtension(url.path.lastPathName), Self.pathExtension(fileName))
    return !Self.pages.contains(address)
      && [address, file].contains { end in
        !end.isEmpty && !Self.pages.contains(end) && !Self.programs.contains(end)
      }
  }

  private static let pageTypes = ["text/html", "application/xhtml+xml"].map { Array($0.utf8) }

  private static func pathExtension(_ name: String?) -> String {
    FileNameParts(name ?? "").pathExtension.lowercased()
  }

  private static let pages: Set = [".html", ".htm", ".xhtml", ".shtml", ".xht"]
  /// Programs of a server, which may send anything.
  private static let programs: Set = [".php", ".asp", ".aspx", ".jsp", ".cgi", ".do"]
}

extension DownloadMachine {
  func isMisplaced(_ head: ResponseHead) -> Bool {
    head.isMisplacedPage(at: rules.request.askedURL, named: fileName)
  }
}

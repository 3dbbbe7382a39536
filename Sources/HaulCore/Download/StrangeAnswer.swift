/// A whole answer that seems to be another thing than the bytes on disk, such as a login page: it
/// does not replace them.
enum StrangeAnswer {
  /// Why it is not taken for a new version; nil if it may be one.
  static func error(
    _ body: ResponseBody, isPage: Bool, _ known: Validator, received: Int64
  ) -> TransferError? {
    guard received > 0, let what = description(body, isPage, known, received) else {
      return nil
    }
    return Self.error(what)
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
    _ body: ResponseBody, _ isPage: Bool, _ known: Validator, _ received: Int64
  ) -> String? {
    if isPage { return "a web page" }
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

  private static let pageTypes = ["text/html", "application/xhtml+xml"].map { Array($0.utf8) }
}

extension Validator {
  fileprivate var hasFields: Bool { entityTag != nil || lastModified != nil }
}

extension DownloadMachine {
  /// What the bytes may be in place of the file.
  /// - Parameter head: nil if no answer has said what they are.
  func misplacedPage(_ head: ResponseHead?) -> MisplacedPage? {
    MisplacedPage(
      head, isDecoded: rules.request.decodesContent, at: rules.request.askedURL, named: fileName)
  }
}

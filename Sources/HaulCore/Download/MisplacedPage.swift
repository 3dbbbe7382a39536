/// What may be a web page in place of a file of another kind, such as a login page. The type of an
/// answer makes it likely; the first bytes decide, because servers call all kinds of files a page.
package struct MisplacedPage: Sendable, Hashable {
  /// How many of the first bytes decide.
  package static let examinedBytes = 512

  /// What shows that the bytes are a page.
  private enum Proof: Sendable {
    /// Nothing more: they are encoded.
    case type
    /// They are text, and files of this kind are not.
    case text
    case tag
    /// They begin as a document of HTML does, because no answer has said their type.
    case document
  }

  private let proof: Proof

  /// Nil if the answer is no page, or may be one: neither the address nor the name of the file is
  /// of another kind. A name of a page says that one is wanted.
  /// - Parameter head: nil if no answer has said what the bytes are.
  package init?(
    _ head: ResponseHead?, isDecoded: Bool = false, at url: ResourceURL, named fileName: String?
  ) {
    // Asked first: every answer comes here, and few are pages.
    if let head, !head.isPage { return nil }
    let ends = [url.path.lastPathName, fileName].map { FileKind(ofName: $0 ?? "") }
    guard !ends.contains(.page), ends.contains(.text) || ends.contains(.other) else { return nil }
    proof =
      switch head?.contentCoding {
      case .some where !isDecoded: .type
      case _ where head == nil: .document
      case _: ends.contains(.other) ? .text : .tag
      }
  }

  /// Why the bytes that begin so are not published; nil if they are those of a file.
  /// - Parameter first: `examinedBytes`, or all of them.
  package func error(_ first: [UInt8]) -> TransferError? {
    let isPage =
      switch proof {
      case .type: true
      case .text: HypertextBytes.areText(first)
      case .tag: HypertextBytes.beginWithTag(first)
      case .document: HypertextBytes.beginDocument(first)
      }
    guard isPage, !first.isEmpty else { return nil }
    return TransferError(
      .webPage, "the server sent a web page in place of the file",
      advice: "perhaps a login is needed, or the link has expired; to have the page, give its file "
        + "a name that ends with .html")
  }
}

/// What the extension of a name says about its bytes.
private enum FileKind {
  case page, text, other
  /// None, or that of a program of a server, which may send anything, or of a version or a host.
  case unknown

  init(ofName name: String) {
    let end = FileNameParts(name).pathExtension.lowercased().byteSplit(separator: ".").last ?? ""
    self =
      switch String(end) {
      case let end where Self.pages.contains(end): .page
      case let end where Self.programsAndHosts.contains(end) || !Self.isExtension(end): .unknown
      case let end: Self.texts.contains(end) ? .text : .other
      }
  }

  /// A letter at least: `.2` is the end of a version.
  private static func isExtension(_ end: String) -> Bool {
    end.utf8.contains(where: FieldScanner.isLetter)
      && end.utf8.allSatisfy { FieldScanner.isLetter($0) || FieldScanner.isDigit($0) }
  }

  private static let pages: Set = ["html", "htm", "xhtml", "shtml", "xht", "mht", "mhtml"]
  private static let programsAndHosts: Set = [
    "php", "asp", "aspx", "ashx", "jsp", "cgi", "do", "cfm", "action",
    "com", "org", "net", "edu", "gov", "info", "io", "dev",
  ]
  private static let texts: Set = [
    "txt", "text", "csv", "tsv", "json", "jsonl", "ndjson", "geojson", "xml", "svg", "rss", "atom",
    "md", "rst", "tex", "bib", "log", "yaml", "yml", "toml", "ini", "conf", "cfg", "list", "sql",
    "js", "mjs", "ts", "css", "py", "rb", "pl", "sh", "bash", "ps1", "bat", "r", "c", "h", "cc",
    "cpp", "hpp", "cs", "java", "kt", "swift", "rs", "go", "lua", "diff", "patch", "po",
    "ics", "vcf", "srt", "vtt", "m3u", "m3u8", "pls", "kml", "gpx", "pem", "crt", "asc", "sig",
    "md5", "sha1", "sha256", "sha512", "meta4", "metalink", "plist", "ovpn",
  ]
}

/// Tells a page by its first bytes, as browsers do (WHATWG MIME Sniffing, sections 3 and 7.1).
private enum HypertextBytes {
  static func areText(_ first: [UInt8]) -> Bool {
    isOfTwoBytes(first)
      || !first.contains { $0 < 0x20 && ![0x09, 0x0A, 0x0C, 0x0D, 0x1B].contains($0) }
  }

  static func beginWithTag(_ first: [UInt8]) -> Bool { begin(first, with: documents + tags) }

  static func beginDocument(_ first: [UInt8]) -> Bool { begin(first, with: documents) }

  private static func begin(_ first: [UInt8], with tags: [[UInt8]]) -> Bool {
    // UTF-16 has a NUL beside each of these letters.
    let letters = isOfTwoBytes(first) ? first.dropFirst(2).filter { $0 != 0 } : first
    let text = letters.drop { [0x09, 0x0A, 0x0C, 0x0D, 0x20, 0xEF, 0xBB, 0xBF].contains($0) }
    return tags.contains { tag in
      text.count > tag.count && zip(text, tag).allSatisfy { FieldScanner.lowercased($0) == $1 }
        && !FieldScanner.isLetter(text[text.startIndex + tag.count])
    }
  }

  private static func isOfTwoBytes(_ first: [UInt8]) -> Bool {
    first.starts(with: [0xFE, 0xFF]) || first.starts(with: [0xFF, 0xFE])
  }

  private static let documents = bytes(["<!doctype html", "<html"])
  private static let tags = bytes([
    "<head", "<script", "<iframe", "<h1", "<div", "<font", "<table", "<a", "<style", "<title", "<b",
    "<body", "<br", "<p", "<!--",
  ])

  private static func bytes(_ tags: [String]) -> [[UInt8]] { tags.map { Array($0.utf8) } }
}

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
    guard !ends.contains(.page), ends.contains(.binary) || ends.contains(.other) else { return nil }
    proof =
      switch head?.contentCoding {
      case .some where !isDecoded: .type
      case _ where head == nil: .document
      case _: ends.contains(.binary) ? .text : .tag
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
  case page
  /// Its bytes are not text.
  case binary
  /// They may be text.
  case other
  /// No extension, or that of a program of a server, which may send anything, or of a version or a
  /// host.
  case unknown

  init(ofName name: String) {
    let end = FileNameParts(name).pathExtension.lowercased().byteSplit(separator: ".").last ?? ""
    self =
      switch String(end) {
      case let end where Self.pages.contains(end): .page
      case let end where Self.binaries.contains(end): .binary
      case let end where Self.short.contains(end): .other
      case let end where Self.programsAndHosts.contains(end) || !Self.isExtension(end): .unknown
      case _: .other
      }
  }

  /// A letter at least: `.2` is the end of a version. Two letters are those of a country, but for
  /// `short`.
  private static func isExtension(_ end: String) -> Bool {
    end.utf8.count != 2 && end.utf8.contains(where: FieldScanner.isLetter)
      && end.utf8.allSatisfy { FieldScanner.isLetter($0) || FieldScanner.isDigit($0) }
  }

  private static let pages: Set = ["html", "htm", "xhtml", "shtml", "xht", "mht", "mhtml"]
  private static let short: Set = [
    "md", "js", "ts", "py", "rb", "pl", "sh", "cc", "cs", "kt", "rs", "go", "po", "fa", "fq", "db",
  ]
  private static let programsAndHosts: Set = [
    "php", "asp", "aspx", "ashx", "jsp", "cgi", "do", "cfm", "action",
    "com", "org", "net", "edu", "gov", "info", "io", "dev",
  ]
  private static let binaries: Set = [
    "zip", "gz", "tgz", "bz2", "xz", "zst", "lz4", "7z", "rar", "tar", "jar", "war", "whl", "cab",
    "iso", "img", "dmg", "qcow2", "vmdk", "vhd", "vhdx", "vdi", "ova", "wim",
    "deb", "rpm", "apk", "ipa", "exe", "msi", "dll", "so", "pkg", "bin",
    "png", "jpg", "jpeg", "gif", "webp", "avif", "heic", "bmp", "tif", "tiff", "ico", "psd",
    "mp3", "m4a", "aac", "flac", "ogg", "opus", "wav", "mp4", "m4v", "mkv", "webm", "avi", "mov",
    "wmv", "mpg", "mpeg", "pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "ods", "odp",
    "epub", "mobi", "pt", "pth", "ckpt", "safetensors", "gguf", "onnx", "h5", "hdf5", "npy", "npz",
    "parquet", "feather", "arrow", "sqlite", "ttf", "otf", "woff", "woff2", "torrent", "bam", "nc",
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

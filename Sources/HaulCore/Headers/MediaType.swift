/// The usual media type of a file, by the extension of its name (RFC 6838 names them): receivers of
/// a form, and browsers that open an object of a store, judge by it.
enum MediaType {
  /// - Returns: nil for an extension that means nothing certain.
  static func ofFile(named name: String) -> String? {
    let end = FileNameParts(name).pathExtension.lowercased()
    return end.lastByteIndex(of: ".").flatMap { types[String(end[$0...])] }
  }

  private static let types = [
    ".7z": "application/x-7z-compressed", ".aac": "audio/aac", ".avi": "video/x-msvideo",
    ".avif": "image/avif", ".bmp": "image/bmp", ".bz2": "application/x-bzip2", ".css": "text/css",
    ".csv": "text/csv",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".epub": "application/epub+zip", ".flac": "audio/flac", ".gif": "image/gif",
    ".gz": "application/gzip", ".heic": "image/heic", ".htm": "text/html", ".html": "text/html",
    ".ico": "image/vnd.microsoft.icon", ".ics": "text/calendar", ".jar": "application/java-archive",
    ".jpeg": "image/jpeg", ".jpg": "image/jpeg", ".js": "text/javascript",
    ".json": "application/json", ".m4a": "audio/mp4", ".md": "text/markdown",
    ".mjs": "text/javascript", ".mkv": "video/x-matroska", ".mov": "video/quicktime",
    ".mp3": "audio/mpeg", ".mp4": "video/mp4", ".mpeg": "video/mpeg",
    ".odp": "application/vnd.oasis.opendocument.presentation",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
    ".odt": "application/vnd.oasis.opendocument.text", ".ogg": "audio/ogg", ".opus": "audio/ogg",
    ".otf": "font/otf", ".pdf": "application/pdf", ".png": "image/png",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".rtf": "application/rtf", ".svg": "image/svg+xml", ".tar": "application/x-tar",
    ".tgz": "application/gzip", ".tif": "image/tiff", ".tiff": "image/tiff", ".ttf": "font/ttf",
    ".txt": "text/plain", ".vcf": "text/vcard", ".wasm": "application/wasm", ".wav": "audio/wav",
    ".webm": "video/webm", ".webp": "image/webp", ".woff": "font/woff", ".woff2": "font/woff2",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".xml": "application/xml", ".xz": "application/x-xz", ".yaml": "application/yaml",
    ".yml": "application/yaml", ".zip": "application/zip", ".zst": "application/zstd",
  ]
}

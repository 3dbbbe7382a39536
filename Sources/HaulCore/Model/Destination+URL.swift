public import FoundationEssentials

extension DownloadRequest.Destination {
  /// At exactly the path of a file URL.
  /// - Throws: `bad-name` for any other URL.
  public static func file(_ url: URL) throws(TransferError) -> DownloadRequest.Destination {
    .file(try url.filePath)
  }

  /// In the directory of a file URL, which is made if missing.
  /// - Throws: `bad-name` for any other URL.
  public static func directory(_ url: URL) throws(TransferError) -> DownloadRequest.Destination {
    .directory(try url.filePath)
  }
}

extension URL {
  /// The path of a file URL.
  /// - Throws: `bad-name` for any other URL.
  package var filePath: String {
    get throws(TransferError) {
      guard isFileURL else {
        throw TransferError(.badName, "not the URL of a file", advice: "give one, or a path")
      }
      return path(percentEncoded: false)
    }
  }
}

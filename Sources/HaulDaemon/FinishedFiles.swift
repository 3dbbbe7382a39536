import HaulControl
import HaulCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Deletes files of completed transfers that were removed from the list.
struct FinishedFiles {
  private let files: [(id: TransferID, path: String, bytes: Int64)]

  init(_ documents: [TransferDocument]) {
    files = documents.compactMap { document in
      guard document.state == .completed, document.url != nil, let path = document.path else {
        return nil
      }
      return (document.id, path, document.bytes)
    }
  }

  /// - Parameter kept: transfers that are still in the list.
  /// - Returns: the files that were left: they cannot be deleted, or are no longer what was
  ///   downloaded.
  func delete(except kept: Set<TransferID>) -> [String] {
    files.compactMap { id, path, bytes in
      guard !kept.contains(id) else { return nil }
      var status = stat()
      guard lstat(path, &status) == 0 else { return errno == ENOENT ? nil : path }
      guard status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) == bytes else { return path }
      return unlink(path) == 0 || errno == ENOENT ? nil : path
    }
  }
}

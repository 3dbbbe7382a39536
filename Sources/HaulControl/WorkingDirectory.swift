package import HaulCore
import HaulLibC

/// The working directory of this process, in which the daemon is to open relative paths.
package enum WorkingDirectory {
  /// Nil if it was removed, or its path is not UTF-8: as text, it would be another directory.
  package static var path: String? {
    guard let path = getcwd(nil, 0) else { return nil }
    defer { free(path) }
    return String(validatingCString: path)
  }

  /// The path from the root; the path itself if this directory cannot be used.
  package static func absolute(_ path: String) -> String {
    guard !path.isAbsolutePath, let directory = Self.path else { return path }
    return directory.appendingPath(path)
  }

  /// The requests with absolute paths.
  /// - Parameter directory: the working directory; nil if it cannot be used.
  /// - Throws: `bad-name` if there is a relative path, and no such directory.
  package static func resolve(
    _ requests: [TransferRequest], in directory: String?
  ) throws(TransferError) -> [TransferRequest] {
    guard requests.contains(where: \.hasRelativePath) else { return requests }
    guard let directory else {
      throw TransferError(
        .badName,
        "the working directory was removed, or its path is not UTF-8 text",
        advice: "change to another one, or give absolute paths")
    }
    return requests.map { $0.absolute(in: directory) }
  }
}

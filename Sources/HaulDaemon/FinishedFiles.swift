import HaulControl
import HaulCore
import HaulFiles

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Deletes files of completed transfers that were removed from the list.
struct FinishedFiles {
  private let files: [(id: TransferID, path: String, bytes: Int64)]
  private let roots: RootDirectories?

  /// - Parameter roots: where files may be deleted; nil for everywhere.
  init(_ documents: [TransferDocument], below roots: RootDirectories?) {
    self.roots = roots
    files = documents.compactMap { document in
      guard document.state == .completed, document.kind == .download, let path = document.path
      else {
        return nil
      }
      return (document.id, path, document.bytes)
    }
  }

  /// Whether there is certainly no file.
  static func isMissing(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) != 0 && (errno == ENOENT || errno == ENOTDIR)
  }

  /// - Parameter kept: transfers that are still in the list.
  /// - Returns: the files that were left: they cannot be deleted, or are no longer what was
  ///   downloaded.
  func delete(except kept: Set<TransferID>) -> [String] {
    files.compactMap { id, path, bytes in
      guard !kept.contains(id) else { return nil }
      guard let directory = directory(of: path) else { return path }
      defer { close(directory) }
      let name = path.pathParts.name
      var status = stat()
      guard fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
        return errno == ENOENT ? nil : path
      }
      guard status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) == bytes,
        isOwn(name, in: directory, path)
      else { return path }
      return unlinkat(directory, name, 0) == 0 || errno == ENOENT ? nil : path
    }
  }

  /// Whether Haul made the file, and nobody has changed it since: a completed transfer may have
  /// found the file of its user. Over TCP, it must have come over TCP.
  private func isOwn(_ name: String, in directory: Int32, _ path: String) -> Bool {
    let disk = POSIXDisk()
    var status = stat()
    guard fstat(directory, &status) == 0,
      let opened = try? disk.openDirectory(path.pathParts.directory, creating: false),
      let found = try? opened.status(), found.inode == UInt64(status.st_ino),
      found.device == UInt64(status.st_dev)
    else { return false }
    guard let record = FileRecord.read(name, in: opened, user: disk.effectiveUser) else {
      return false
    }
    return roots == nil || record.isOfClient
  }

  /// The open directory of a file; nil if files may not be deleted there.
  private func directory(of path: String) -> Int32? {
    let parent = path.pathParts.directory
    let file =
      roots.map { $0.openDirectory(parent) } ?? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    return file < 0 ? nil : file
  }
}

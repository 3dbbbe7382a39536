import HaulControl
import HaulCore
import HaulFiles
import HaulLibC

/// Deletes files of completed transfers that were removed from the list.
struct FinishedFiles {
  private let files: [(id: TransferID, path: String, bytes: Int64)]
  private let roots: RootDirectories?
  private let disk = POSIXDisk()

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
      do throws(DiskError) {
        return try delete(path, of: bytes) ? nil : path
      } catch {
        return path
      }
    }
  }

  /// True if the file is gone. The directory is opened as for a download: a link of another user
  /// in a sticky directory is not followed.
  private func delete(_ path: String, of bytes: Int64) throws(DiskError) -> Bool {
    let (parent, name) = path.pathParts
    let directory = try disk.openDirectory(parent, below: roots?.paths, creating: false)
    guard let status = try directory.status(of: name) else { return true }
    guard status.kind == .regular, status.size == bytes, isOwn(name, in: directory) else {
      return false
    }
    do throws(DiskError) {
      try directory.unlink(name)
    } catch {
      if error.errno != ENOENT { throw error }
    }
    return true
  }

  /// Whether Haul made the file, and nobody has changed it since: a completed transfer may have
  /// found the file of its user. Over TCP, it must have come over TCP.
  private func isOwn(_ name: String, in directory: any DiskDirectory) -> Bool {
    guard let record = FileRecord.read(name, in: directory, user: disk.effectiveUser) else {
      return false
    }
    return roots == nil || record.isOfClient
  }
}

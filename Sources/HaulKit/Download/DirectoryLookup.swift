import HaulCore
import HaulFiles

/// Finds out where files are. Every call blocks.
enum DirectoryLookup {
  struct Found {
    let directory: any DiskDirectory
    let device: UInt64

    /// Whether a file of that name exists.
    func holds(_ name: String) -> Bool {
      // A name that cannot be read counts as missing.
      ((try? directory.status(of: name)) ?? nil) != nil
    }
  }

  /// The directory at a path; nil when it cannot be opened.
  static func find(_ path: String, on disk: any Disk) -> Found? {
    // Any error means nil, also that of a dangling path or of a file system that does not answer.
    guard let directory = try? disk.openDirectory(path, creating: false),
      let device = try? directory.status().device
    else { return nil }
    return Found(directory: directory, device: device)
  }

  /// The directory, or its nearest existing parent.
  static func nearest(
    _ path: String, on disk: any Disk
  ) throws(TransferError) -> any DiskDirectory {
    var path = path
    while true {
      if let found = find(path, on: disk) { return found.directory }
      guard path != "/", path != "." else {
        return try TargetCheck.openDirectory(".", on: disk, creating: false)
      }
      path = path.pathParts.directory
    }
  }
}

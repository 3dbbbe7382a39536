import HaulCore
import HaulFiles

/// Looks at where files lie. Every call blocks.
enum DirectoryLookup {
  struct Found {
    let directory: any DiskDirectory
    let device: UInt64

    /// Whether a file of that name is there.
    func holds(_ name: String) -> Bool {
      // What cannot be looked at is not there.
      ((try? directory.status(of: name)) ?? nil) != nil
    }
  }

  /// The directory at a path; nil when none can be opened there.
  static func find(_ path: String, on disk: any Disk) -> Found? {
    // Whatever the reason: a path that leads nowhere, or to a file system that does not answer.
    guard let directory = try? disk.openDirectory(path, creating: false),
      let device = try? directory.status().device
    else { return nil }
    return Found(directory: directory, device: device)
  }

  /// The directory, or, where it could not be made, the next above it.
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

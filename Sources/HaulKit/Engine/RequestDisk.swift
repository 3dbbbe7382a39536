import HaulCore

/// The disk as one transfer may use it: its files get the permissions of its caller, and lie below
/// its roots.
struct RequestDisk: Disk {
  let base: any Disk
  let creationMask: UInt32
  let roots: [String]?

  var bootID: String { base.bootID }
  var effectiveUser: UInt32 { base.effectiveUser }

  func workingDirectory() throws(DiskError) -> String { try base.workingDirectory() }

  func openDirectory(
    _ path: String, below roots: [String]?, creating: Bool
  ) throws(DiskError) -> any DiskDirectory {
    try base.openDirectory(path, below: roots ?? self.roots, creating: creating)
  }
}

extension Engine {
  /// The disk as a download may use it.
  func disk(of request: DownloadRequest) -> any Disk {
    disk(below: request.roots, creationMask: request.creationMask)
  }

  /// The disk for files below these roots; nil for anywhere.
  func disk(below roots: [String]?, creationMask: UInt32? = nil) -> any Disk {
    guard roots != nil || creationMask != nil else { return disk }
    return RequestDisk(base: disk, creationMask: creationMask ?? disk.creationMask, roots: roots)
  }
}

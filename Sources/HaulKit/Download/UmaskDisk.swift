import HaulCore

/// A disk on which a transfer's file gets the permissions of its caller, not of this process.
struct UmaskDisk: Disk {
  let base: any Disk
  let creationMask: UInt32

  var bootID: String { base.bootID }
  var effectiveUser: UInt32 { base.effectiveUser }

  func workingDirectory() throws(DiskError) -> String { try base.workingDirectory() }

  func openDirectory(_ path: String, creating: Bool) throws(DiskError) -> any DiskDirectory {
    try base.openDirectory(path, creating: creating)
  }
}

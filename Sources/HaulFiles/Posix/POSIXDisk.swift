package import HaulCore
import HaulLibC

/// The file system of this machine.
package struct POSIXDisk: Disk {
  package let bootID: String
  package let effectiveUser: UInt32
  package let creationMask: UInt32

  package init() {
    // Without a boot id, nothing is trusted unread, so each process gets its own.
    bootID = PlatformCalls.bootID() ?? "unknown-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    effectiveUser = geteuid()
    creationMask = PlatformCalls.creationMask() ?? 0o022
  }

  package func workingDirectory() throws(DiskError) -> String {
    guard let path = getcwd(nil, 0) else { throw DiskError("getcwd", errno) }
    defer { free(path) }
    // With a replacement character, it would be the path of another directory.
    guard let text = String(validatingCString: path) else { throw DiskError("getcwd", EILSEQ) }
    return text
  }

  /// The same path without symbolic links.
  package static func resolved(_ path: String) throws(DiskError) -> String {
    guard let text = realpath(path, nil) else { throw DiskError("realpath", errno) }
    defer { free(text) }
    // Bytes that are not text would become those of another file's name.
    guard let path = String(validatingCString: text) else { throw DiskError("realpath", EILSEQ) }
    return path
  }

  /// Creates a directory for this user's own files, and its parents, for this user alone.
  /// - Throws: `EACCES` where a link or a directory of another user is in a directory for all.
  package static func makeOwnDirectory(_ path: String) throws(DiskError) {
    // Nothing was written.
    _ = close(try DirectoryWalk.open(path, creating: true, isOwn: true, user: geteuid()))
  }

  package func openDirectory(
    _ path: String, below roots: [String]?, creating: Bool
  ) throws(DiskError) -> any DiskDirectory {
    let path = path.isEmpty ? "." : path
    if let roots {
      let number = try ConfinedDirectory.open(path, below: roots, creating: creating)
      return try POSIXDirectory(DescriptorBox(number), path: path)
    }
    // Most paths have no link: one call opens them, and the walk costs a call for each name.
    let plain = PlatformCalls.openWithoutLinks(path, O_RDONLY | O_DIRECTORY)
    let number =
      plain >= 0
      ? plain : try DirectoryWalk.open(path, creating: creating, user: effectiveUser)
    return try POSIXDirectory(DescriptorBox(number), path: path)
  }
}

extension FileStatus {
  init(_ status: stat) {
    let kind: Kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .regular
      case S_IFDIR: .directory
      case S_IFLNK: .symlink
      default: .other
      }
    let (modified, changed) = (status.st_mtim, status.st_ctim)
    self.init(
      kind: kind, device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino),
      size: Int64(status.st_size), owner: status.st_uid, mode: UInt32(status.st_mode) & 0o7777,
      links: UInt64(status.st_nlink),
      modified: Double(modified.tv_sec) + Double(modified.tv_nsec) / 1e9,
      changed: Double(changed.tv_sec) + Double(changed.tv_nsec) / 1e9,
      allocated: Int64(status.st_blocks) * 512)
  }
}

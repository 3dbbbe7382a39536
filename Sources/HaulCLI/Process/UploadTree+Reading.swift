import FoundationEssentials
import HaulCore
import HaulLibC

extension UploadTree {
  /// Lists a directory and those below it.
  /// - Parameter links: what is done with the symbolic links in it; the path itself is followed.
  /// - Returns: nil if the path is not a directory; what it is shows when it is opened.
  static func read(_ path: String, _ links: Links) throws(UsageError) -> UploadTree? {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
    var tree = UploadTree()
    let top = Directory(
      path: path, names: [], identities: [FileIdentity(status)], isLinked: false)
    try tree.add(top, links)
    return tree
  }

  /// A directory that is read.
  private struct Directory {
    let path: String
    let names: [String]
    /// Which directories it is in, its own last.
    let identities: [FileIdentity]
    /// Whether a link leads to it, or to one that it is in.
    let isLinked: Bool

    func below(_ name: String, _ identity: FileIdentity, isLinked: Bool) -> Directory {
      Directory(
        path: path.appendingPath(name), names: names + [name],
        identities: identities + [identity], isLinked: self.isLinked || isLinked)
    }
  }

  private mutating func add(_ directory: Directory, _ links: Links) throws(UsageError) {
    let found: [String]
    do {
      found = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    } catch {
      guard directory.names.isEmpty else { return leftOut.closed.add(directory.path) }
      throw UsageError("cannot read the directory \(directory.path)")
    }
    if found.isEmpty, !directory.names.isEmpty {
      append(
        Entry(
          directory.names, isDirectory: true, directory.identities.last,
          isLinked: directory.isLinked))
    }
    for name in found { try add(name, in: directory, links) }
  }

  private mutating func add(
    _ name: String, in directory: Directory, _ links: Links
  ) throws(UsageError) {
    let path = directory.path.appendingPath(name)
    var status = stat()
    guard lstat(path, &status) == 0 else {
      let reason = SystemError.text(errno)
      let isOtherText = name.hasBytes("\u{FFFD}")
      throw UsageError(
        "cannot read \(path): \(isOtherText ? "its name is not UTF-8; rename it" : reason)")
    }
    let isLink = status.st_mode & S_IFMT == S_IFLNK
    if isLink {
      guard links == .follow else { return leftOut.links.add(path) }
      guard stat(path, &status) == 0 else { return leftOut.lost.add(path) }
    }
    let identity = FileIdentity(status)
    switch status.st_mode & S_IFMT {
    case S_IFREG:
      append(
        Entry(directory.names + [name], identity, isLinked: directory.isLinked || isLink))
    case S_IFDIR where isLink && directory.identities.contains(identity):
      leftOut.lost.add(path)  // it would be read for ever
    case S_IFDIR: try add(directory.below(name, identity, isLinked: isLink), links)
    default: leftOut.special.add(path)
    }
  }
}

extension FileIdentity {
  fileprivate init(_ status: stat) {
    self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
  }
}

import FoundationEssentials
import HaulCore
import HaulLibC

extension UploadTree {
  /// Lists a directory and those below it.
  ///
  /// A symbolic link in it is refused: what it names may be outside, or the directory itself.
  /// - Returns: nil if the path is not a directory; what it is shows when it is opened.
  static func read(_ path: String) throws(UsageError) -> UploadTree? {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
    var tree = UploadTree()
    try tree.add(path, [], FileIdentity(status))
    return tree
  }

  private mutating func add(
    _ path: String, _ names: [String], _ identity: FileIdentity
  ) throws(UsageError) {
    let found: [String]
    do {
      found = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    } catch {
      throw UsageError("cannot read the directory \(path)")
    }
    if found.isEmpty, !names.isEmpty { append(Entry(names, isDirectory: true, identity)) }
    for name in found {
      let below = path.appendingPath(name)
      var status = stat()
      guard lstat(below, &status) == 0 else {
        let reason = SystemError.text(errno)
        let isOtherText = name.hasBytes("\u{FFFD}")
        throw UsageError(
          "cannot read \(below): \(isOtherText ? "its name is not UTF-8; rename it" : reason)")
      }
      switch status.st_mode & S_IFMT {
      case S_IFREG: append(Entry(names + [name], FileIdentity(status)))
      case S_IFDIR: try add(below, names + [name], FileIdentity(status))
      case S_IFLNK:
        throw UsageError(
          "\(below) is a symbolic link; in a directory, put uploads only files")
      default:
        throw UsageError(
          "\(below) is a device, a socket or a FIFO; in a directory, put uploads only files")
      }
    }
  }
}

extension FileIdentity {
  fileprivate init(_ status: stat) {
    self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
  }
}

/// The addresses of an upload to a WebDAV server.
struct DAVAddresses: Sendable {
  /// The file's own.
  let target: ResourceURL
  /// How many directories are above it, without the root, which always exists.
  let directoryCount: Int
  /// Whether the file's own is known to exist.
  var hasDirectory = false
  /// How often the server has named another directory.
  private let moves: Int

  init(_ target: ResourceURL, moves: Int = 0) {
    (self.target, self.moves) = (target, moves)
    directoryCount = max(0, target.path.utf8.count { $0 == UInt8(ascii: "/") } - 1)
  }

  /// A directory above it; level 0 is its own. Made when it is needed: a path may have thousands.
  /// - Complexity: O(length of the path).
  func directory(_ level: Int) -> ResourceURL {
    let slashes = target.path.utf8.indices.filter { target.path.utf8[$0] == UInt8(ascii: "/") }
    let end = slashes[slashes.count - 1 - level]
    return target.withPath(String(target.path[...end])) ?? target
  }

  /// The address of a name beside the target.
  func sibling(_ name: Substring) -> ResourceURL? {
    target.withPath(target.directoryPath + name)
  }

  /// The same name in the directory of this address, which the server has named; nil if it has done
  /// so too often, or it cannot be read.
  func moved(beside other: ResourceURL) -> DAVAddresses? {
    guard moves < 5 else { return nil }
    return target.withPath(other.directoryPath + target.lastName).map {
      DAVAddresses($0, moves: moves + 1)
    }
  }

  /// A name that no one else chooses. Nextcloud and ownCloud refuse names that end with `.part`.
  static func temporaryName(_ number: UInt64) -> Substring {
    "haul-\(number.hexDigits).tmp"
  }
}

extension ResourceURL {
  /// The path up to its last slash.
  var directoryPath: Substring {
    let end = path.lastByteIndex(of: "/") ?? path.startIndex
    return path[..<end] + "/"
  }

  /// What follows the last slash of the path.
  var lastName: Substring {
    path.lastByteIndex(of: "/").map { path[path.utf8.index(after: $0)...] } ?? path[...]
  }

  /// The same with a slash at the end of its path.
  var asDirectory: ResourceURL { path.endsWithSlash ? self : withPath(path + "/") ?? self }

  /// Whether it is the same resource but for a slash at its end.
  func isSameDirectory(as other: ResourceURL) -> Bool {
    origin == other.origin
      && path.withoutLastSlashes.isByteEqual(other.path.withoutLastSlashes)
  }

  /// The same address with another path; query and user information stay.
  /// - Parameter path: percent-encoded, with a slash at its start.
  fileprivate func withPath(_ path: some StringProtocol) -> ResourceURL? {
    let query = query.map { "?\($0)" } ?? ""
    let start = "\(origin.scheme)://\(origin.authority)"
    // A path that was read once can be read again.
    return (try? ResourceURL("\(start)\(path)\(query)"))?.taking(credentials)
  }
}

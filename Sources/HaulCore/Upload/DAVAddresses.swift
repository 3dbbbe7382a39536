/// The addresses of an upload to a WebDAV server.
struct DAVAddresses: Sendable {
  /// The file's own.
  let target: ResourceURL
  /// The directories above it, its own first; without the root, which always exists.
  let directories: [ResourceURL]

  init(_ target: ResourceURL) {
    self.target = target
    let segments = target.path.byteSplit(separator: "/", omittingEmptySubsequences: false)
      .dropFirst()
    // What follows the last slash is the name of a file; nothing does if it is a directory.
    let names = segments.dropLast()
    directories = names.indices.reversed().compactMap { last in
      target.withPath("/" + names[...last].joined(separator: "/") + "/")
    }
  }

  /// The address of a name beside the target.
  func sibling(_ name: String) -> ResourceURL? {
    let end = target.path.lastByteIndex(of: "/") ?? target.path.startIndex
    return target.withPath(target.path[...end] + name)
  }

  /// A name that no one else chooses.
  static func temporaryName(using rng: inout some RandomNumberGenerator) -> String {
    "haul-\((rng.next() as UInt64).hexDigits).part"
  }
}

extension ResourceURL {
  /// The same address with another path; query and user information stay.
  /// - Parameter path: percent-encoded, with a slash at its start.
  fileprivate func withPath(_ path: String) -> ResourceURL? {
    let query = query.map { "?\($0)" } ?? ""
    let start = "\(origin.scheme)://\(origin.authority)"
    // A path that was read once can be read again.
    return (try? ResourceURL("\(start)\(path)\(query)"))?.taking(credentials)
  }
}

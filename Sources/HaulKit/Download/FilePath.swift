import HaulCore

/// Paths as text.
extension String {
  /// The path of a name in the directory at this path.
  func filePath(_ name: String) -> String {
    self == "." ? name : hasSuffix("/") ? self + name : "\(self)/\(name)"
  }

  /// The path of its directory, and its name.
  var pathParts: (directory: String, name: String) {
    guard let slash = lastIndex(of: "/") else { return (".", self) }
    return (
      slash == startIndex ? "/" : String(self[..<slash]), String(self[index(after: slash)...])
    )
  }
}

extension DiskDirectory {
  /// The path of a name in the directory.
  func filePath(_ name: String) -> String { path.filePath(name) }
}

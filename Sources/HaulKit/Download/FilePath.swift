import HaulCore

/// Paths as text.
extension String {
  /// The path of a name in the directory at this path.
  func filePath(_ name: String) -> String {
    self == "." ? name : hasSuffix("/") ? self + name : "\(self)/\(name)"
  }
}

extension DiskDirectory {
  /// The path of a name in the directory.
  func filePath(_ name: String) -> String { path.filePath(name) }
}

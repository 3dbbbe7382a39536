import HaulCore

extension String {
  /// The path of a name in the directory at this path; `.` is left out.
  func filePath(_ name: String) -> String { self == "." ? name : appendingPath(name) }
}

extension DiskDirectory {
  /// The path of a name in the directory.
  func filePath(_ name: String) -> String { path.filePath(name) }
}

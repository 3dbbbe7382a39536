import HaulCore
import HaulLibC

/// Whether another user could put something else at a path.
package enum ReplaceablePath {
  /// Why a directory is not the user's own place: it, or a directory or a link on the way to it,
  /// belongs to another user, or others may write there. In a directory that keeps everybody's
  /// files apart, such as `/tmp`, others may not touch what is the user's.
  /// - Parameter path: absolute.
  /// - Returns: nil if it is, or if there is none.
  package static func problem(of path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    guard realpath(path, &buffer) != nil else { return linkProblem(on: path) }
    let end = buffer.firstIndex(of: 0) ?? buffer.endIndex
    let real = String(decoding: buffer[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    if let problem = linkProblem(on: path) { return problem }
    for place in prefixes(of: real) {
      var status = stat()
      guard lstat(place, &status) == 0 else { return "\(place) cannot be looked at" }
      guard isOwn(status) else { return "\(place) belongs to another user" }
      let isForOthers = status.st_mode & 0o022 != 0
      let isShared = status.st_mode & S_ISVTX != 0 && place != real
      guard !isForOthers || isShared else { return "others may write to \(place)" }
    }
    return nil
  }

  /// A link of another user leads to where that user wants.
  private static func linkProblem(on path: String) -> String? {
    for place in prefixes(of: path) {
      var status = stat()
      guard lstat(place, &status) == 0 else { return nil }
      if status.st_mode & S_IFMT == S_IFLNK, !isOwn(status) {
        return "\(place) is a link of another user"
      }
    }
    return nil
  }

  private static func isOwn(_ status: stat) -> Bool {
    status.st_uid == 0 || status.st_uid == geteuid()
  }

  /// `/`, and each directory on the way to the last one.
  private static func prefixes(of path: String) -> [String] {
    FilePath(path).names.reduce(into: ["/"]) { $0.append($0[$0.count - 1].appendingPath($1)) }
  }
}

/// A path of a file as text, however it is written: `a`, `./a` and `.//a` are one. What links make of it, only the disk knows.
package struct TargetPath: Hashable, Sendable {
  package let text: String

  package init(_ path: String) {
    if Self.isPlain(path) {
      text = path
      return
    }
    let parts = path.split(separator: "/").filter { $0 != "." }
    text = (path.hasPrefix("/") ? "/" : "") + parts.joined(separator: "/")
  }

  /// Whether it has no component that is empty or a dot, as most have not.
  private static func isPlain(_ path: String) -> Bool {
    let (slash, dot) = (UInt8(ascii: "/"), UInt8(ascii: "."))
    let bytes = Array(path.utf8)
    var start = bytes.first == slash ? 1 : 0
    for place in start..<bytes.count where bytes[place] == slash {
      if place == start || (place == start + 1 && bytes[start] == dot) { return false }
      start = place + 1
    }
    return start < bytes.count && !(start + 1 == bytes.count && bytes[start] == dot)
  }
}

extension TransferRequest {
  /// The file that it is to make, when its path was given and not derived.
  package var exactTarget: TargetPath? {
    guard case .file(let path)? = download?.destination else { return nil }
    return TargetPath(path)
  }
}

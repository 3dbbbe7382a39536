/// A path of a file as text, however it is written: `a`, `./a` and `.//a` are one. What links make
/// of it, only the disk knows.
package struct TargetPath: Hashable, Sendable {
  package let text: String

  package init(_ path: String) {
    if path.utf8.withContiguousStorageIfAvailable(Self.isPlain) == true {
      text = path
      return
    }
    let parts = path.split(separator: "/").filter { $0 != "." }
    text = (path.hasPrefix("/") ? "/" : "") + parts.joined(separator: "/")
  }

  /// Whether it has no component that is empty or a dot, as most have not.
  private static func isPlain(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
    let (slash, dot) = (UInt8(ascii: "/"), UInt8(ascii: "."))
    // Whether the component so far is empty, or a dot.
    var (isEmpty, isDot, isFirst) = (true, false, true)
    for byte in path {
      if byte == slash {
        if isDot || (isEmpty && !isFirst) { return false }
        (isEmpty, isDot) = (true, false)
      } else {
        (isEmpty, isDot) = (false, isEmpty && byte == dot)
      }
      isFirst = false
    }
    return !isEmpty && !isDot
  }
}

extension TransferRequest {
  /// The file that it is to make, when its path was given and not derived.
  package var exactTarget: TargetPath? {
    guard case .download(let download) = work, case .file(let path) = download.destination else {
      return nil
    }
    return TargetPath(path)
  }
}

/// The normalised path of a file: `a`, `./a` and `.//a` are equal. It does not resolve links.
package struct TargetPath: Hashable, Sendable {
  package let text: String

  package init(_ path: String) {
    if path.utf8.withContiguousStorageIfAvailable(Self.isNormalised) == true {
      text = path
      return
    }
    let parts = path.split(separator: "/").filter { $0 != "." }
    text = (path.hasPrefix("/") ? "/" : "") + parts.joined(separator: "/")
  }

  /// Whether no component is empty or a dot; most paths are like this.
  private static func isNormalised(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
    let (slash, dot) = (UInt8(ascii: "/"), UInt8(ascii: "."))
    // Whether the present component is empty or a dot so far.
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
  /// Its target file, if its path was given and not derived.
  package var exactTarget: TargetPath? {
    guard case .download(let download) = work, case .file(let path) = download.destination else {
      return nil
    }
    return TargetPath(path)
  }
}

/// A path of a file as text, however it is written: `a`, `./a` and `.//a` are one. What links make of it, only the disk knows.
package struct TargetPath: Hashable, Sendable {
  package let text: String

  package init(_ path: String) {
    let parts = path.split(separator: "/").filter { $0 != "." }
    text = (path.hasPrefix("/") ? "/" : "") + parts.joined(separator: "/")
  }
}

extension TransferRequest {
  /// The file that it is to make, when its path was given and not derived.
  package var exactTarget: TargetPath? {
    guard case .file(let path)? = download?.destination else { return nil }
    return TargetPath(path)
  }
}

/// The path of a file or a directory, as the kernel reads it: names between slashes, compared by
/// their bytes. Swift compares text by meaning, so that two files could have equal names.
package struct FilePath: Hashable, Sendable {
  /// Without empty names and dots: `a`, `./a` and `.//a` are equal. No link is resolved.
  package let text: String

  package init(_ path: String) {
    if path.utf8.withContiguousStorageIfAvailable(Self.isNormalised) == true {
      text = path
      return
    }
    let names = path.byteSplit(separator: "/").filter { !$0.isByteEqual(".") }
    text = (path.isAbsolutePath ? "/" : "") + names.joined(separator: "/")
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

  package static func == (left: FilePath, right: FilePath) -> Bool {
    left.text.isByteEqual(right.text)
  }

  package func hash(into hasher: inout Hasher) {
    let isHashed: Void? = text.utf8.withContiguousStorageIfAvailable {
      hasher.combine(bytes: UnsafeRawBufferPointer($0))
    }
    if isHashed == nil { for byte in text.utf8 { hasher.combine(byte) } }
  }

  /// The names from the first one down.
  package var names: [Substring] { text.byteSplit(separator: "/") }

  /// Whether a name is `..`, so that only the file system knows where the path leads.
  package var leadsUp: Bool { names.contains { $0.isByteEqual("..") } }

  /// The names below a directory, none for the directory itself; nil if it is not below it, or
  /// leads up.
  package func names(below directory: FilePath) -> [Substring]? {
    guard text.isAbsolutePath == directory.text.isAbsolutePath, !leadsUp else { return nil }
    let (own, others) = (names, directory.names)
    guard own.count >= others.count, zip(own, others).allSatisfy({ $0.isByteEqual($1) }) else {
      return nil
    }
    return Array(own.dropFirst(others.count))
  }
}

/// Paths as text. Only this file splits them.
extension String {
  package var isAbsolutePath: Bool { utf8.first == UInt8(ascii: "/") }

  /// Whether the path can only be that of a directory: it ends with a slash.
  package var endsWithSlash: Bool { utf8.last == UInt8(ascii: "/") }

  /// The path of its directory, and its name.
  package var pathParts: (directory: String, name: String) {
    guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", self) }
    return (
      slash == startIndex ? "/" : String(self[..<slash]), String(self[utf8.index(after: slash)...])
    )
  }

  /// The last name of the path, also before slashes; nil if there is none.
  package var lastPathName: String? { byteSplit(separator: "/").last.map(String.init) }

  /// What is between slashes, also if it is empty.
  package var pathNames: [String] {
    byteSplit(separator: "/", omittingEmptySubsequences: false).map(String.init)
  }

  /// The path of a name in the directory at this path.
  package func appendingPath(_ name: some StringProtocol) -> String {
    endsWithSlash ? self + name : "\(self)/\(name)"
  }

  /// Without the slashes at its end; the root stays.
  package var withoutLastSlashes: String {
    let last = utf8.lastIndex { $0 != UInt8(ascii: "/") }
    return last.map { String(self[...$0]) } ?? (isEmpty ? "" : "/")
  }

  /// The paths of the directories above it, from the first one, and its own: what is made when it
  /// is made with its parents.
  package var pathPrefixes: [String] {
    var prefix = isAbsolutePath ? "/" : ""
    return byteSplit(separator: "/").map { name in
      defer { prefix += "/" }
      prefix += name
      return prefix
    }
  }
}

extension TransferRequest {
  /// Its target file, if its path was given and not derived.
  package var exactTarget: FilePath? {
    guard case .download(let download) = work, case .file(let path) = download.destination else {
      return nil
    }
    return FilePath(path)
  }
}

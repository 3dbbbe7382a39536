/// `.` and `..` in the path of an address (RFC 3986, section 5.2.4).
enum DotSegments {
  /// A path that begins with a slash, without them.
  static func removed(from path: String) -> String {
    guard path.hasBytes("/.") else { return path }
    let segments = path.byteSplit(separator: "/", omittingEmptySubsequences: false)
    var kept: [Substring] = []
    for (index, segment) in segments.enumerated() {
      let (isDot, isUp) = (segment.isByteEqual("."), segment.isByteEqual(".."))
      if isUp, kept.count > 1 { kept.removeLast() }
      if !isDot, !isUp {
        kept.append(segment)
      } else if index == segments.count - 1 {
        kept.append("")
      }
    }
    return kept.joined(separator: "/")
  }
}

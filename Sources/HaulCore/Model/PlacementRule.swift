/// A rule by which files go to a directory: `*.iso, *.img -> ~/isos`, `example.org/ -> example`,
/// `*.example.org/*.zip -> zips`, `nas:8080/ -> nas`. A host ends with a slash; letters match in
/// either case.
package struct PlacementRule: Hashable, Sendable {
  private struct Pattern: Hashable, Sendable {
    /// Nil for any.
    let host: String?
    let port: Int?
    let name: String?
  }

  private let patterns: [Pattern]
  /// For messages: what is before the arrow.
  package let text: String
  /// As it is written: absolute, below the home directory (`~/`), or below that of the command.
  package let directory: String

  /// Nil for what is no such rule, and for a directory that leads up.
  package init?(_ rule: String) {
    guard let arrow = rule.firstByteRange(of: "->") else { return nil }
    text = String(rule[..<arrow.lowerBound].trimmingBytes(" \t"))
    directory = String(rule[arrow.upperBound...].trimmingBytes(" \t"))
    guard !directory.isEmpty, !directory.hasByte(0), !FilePath(directory).leadsUp else {
      return nil
    }
    var patterns: [Pattern] = []
    for word in text.byteSplit(separator: ",", omittingEmptySubsequences: false) {
      guard let pattern = Self.parsed(word.trimmingBytes(" \t").lowercased()) else { return nil }
      patterns.append(pattern)
    }
    self.patterns = patterns
  }

  private static func parsed(_ word: String) -> Pattern? {
    let parts = word.pathNames
    guard parts.count == 2 else {
      // Without a wildcard it may be meant as a host.
      return parts.count == 1 && word.utf8.contains(where: "*?".utf8.contains)
        ? Pattern(host: nil, port: nil, name: word) : nil
    }
    guard let (host, port) = server(parts[0]) else { return nil }
    return Pattern(host: host, port: port, name: parts[1].isEmpty ? nil : parts[1])
  }

  /// `host`, `host:8080`, `::1`, `[::1]` or `[::1]:8080`; nil for what no server has.
  private static func server(_ text: String) -> (host: String, port: Int?)? {
    var (name, rest) = (text[...], text[text.endIndex...])
    if text.hasBytePrefix("[") {
      guard let end = text.firstByteRange(of: "]") else { return nil }
      name = text[text.utf8.index(after: text.startIndex)..<end.lowerBound]
      rest = text[end.upperBound...]
    } else if let colon = text.firstByteRange(of: ":"),
      !text[colon.upperBound...].utf8.contains(UInt8(ascii: ":"))
    {
      (name, rest) = (text[..<colon.lowerBound], text[colon.lowerBound...])
    }
    guard !name.isEmpty else { return nil }
    if rest.isEmpty { return (String(name), nil) }
    let digits = rest.dropFirst()
    guard rest.hasBytePrefix(":"), ScheduleText.isNumber(digits), let port = Int(digits),
      (1...65_535).contains(port)
    else { return nil }
    return (String(name), port)
  }

  /// Whether it is for the file of an address, by its host and by the name that its path gives.
  package func matches(_ url: ResourceURL) -> Bool {
    let (origin, name) = (url.origin, FileName(url).text.lowercased())
    return patterns.contains { pattern in
      Self.matches(origin.host, pattern.host) && Self.matches(name, pattern.name)
        && (pattern.port ?? origin.port) == origin.port
    }
  }

  /// Takes at most as many steps as the product of both lengths.
  private static func matches(_ whole: String, _ wanted: String?) -> Bool {
    guard let wanted else { return true }
    let (text, pattern) = (Array(whole.utf8), Array(wanted.utf8))
    var (at, next) = (0, 0)
    // Where the last star is, and the first byte that it has not taken.
    var star: (next: Int, at: Int)?
    while at < text.count {
      if next < pattern.count, pattern[next] == UInt8(ascii: "*") {
        star = (next, at)
        next += 1
      } else if next < pattern.count, [text[at], UInt8(ascii: "?")].contains(pattern[next]) {
        (at, next) = (at + 1, next + 1)
      } else if let last = star {
        star = (last.next, last.at + 1)
        (at, next) = (last.at + 1, last.next + 1)
      } else {
        return false
      }
    }
    return pattern[next...].allSatisfy { $0 == UInt8(ascii: "*") }
  }
}

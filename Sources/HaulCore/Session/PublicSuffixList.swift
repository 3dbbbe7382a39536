/// Under which names everybody may register one of his own: the list of publicsuffix.org, as many
/// systems install it. A cookie for such a name would reach strangers.
package struct PublicSuffixList: Sendable {
  /// In the form of the file: a name, `*.` before it, or `!` before an exception.
  private let rules: Set<Substring>

  /// - Parameter text: of the file.
  package init(_ text: String) {
    rules = Set(
      text.byteSplit(separator: "\n").compactMap { line in
        let rule = line.prefix(beforeAnyOf: " \t\r")
        return rule.isEmpty || rule.hasBytePrefix("//") ? nil : rule
      })
  }

  /// Whether no host may set a cookie for this domain and what is below it. Nil for international
  /// names, which the list has in Unicode: not known.
  package func isSuffix(_ domain: String) -> Bool? {
    guard !domain.hasBytes("xn--"), domain.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
    guard let dot = domain.firstByteIndex(of: ".") else { return true }
    if rules.contains("!\(domain)") { return false }
    let parent = domain[domain.utf8.index(after: dot)...]
    return rules.contains(domain[...]) || rules.contains("*.\(parent)")
  }
}

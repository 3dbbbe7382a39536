/// Text with a meaning for a kernel or a protocol, compared and split by its bytes.
///
/// Swift compares by `Character` and by canonical equivalence: `/` before U+0301, or after U+0600,
/// is no `/`; U+037E equals `;`; two names that are two files may be equal. So paths, fields, hosts
/// and lists use these methods, and `Scripts/lint` refuses the others.
extension StringProtocol where UTF8View: BidirectionalCollection, SubSequence == Substring {
  /// Whether its bytes are those of `other`.
  package func isByteEqual(_ other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }

  /// Whether its bytes begin with those of `prefix`.
  package func hasBytePrefix(_ prefix: some StringProtocol) -> Bool {
    utf8.starts(with: prefix.utf8)
  }

  /// Whether its bytes end with those of `suffix`.
  package func hasByteSuffix(_ suffix: some StringProtocol) -> Bool {
    utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
  }

  /// What follows an ASCII text at its start; nil if it begins otherwise.
  package func dropping(bytePrefix prefix: String) -> SubSequence? {
    hasBytePrefix(prefix) ? self[utf8.index(startIndex, offsetBy: prefix.utf8.count)...] : nil
  }

  /// What precedes an ASCII text at its end; nil if it ends otherwise.
  package func dropping(byteSuffix suffix: String) -> SubSequence? {
    hasByteSuffix(suffix) ? self[..<utf8.index(endIndex, offsetBy: -suffix.utf8.count)] : nil
  }

  /// Whether its bytes contain those of `part`. O(length of both multiplied).
  package func hasBytes(_ part: some StringProtocol) -> Bool { firstByteRange(of: part) != nil }

  /// Where the bytes of `part` are first. O(length of both multiplied).
  package func firstByteRange(of part: some StringProtocol) -> Range<Index>? {
    var rest = utf8[...]
    while rest.count >= part.utf8.count {
      if rest.starts(with: part.utf8) {
        return rest.startIndex..<rest.index(rest.startIndex, offsetBy: part.utf8.count)
      }
      rest = rest.dropFirst()
    }
    return nil
  }

  /// Where this ASCII character is first.
  package func firstByteIndex(of character: Unicode.Scalar) -> Index? {
    utf8.firstIndex(of: UInt8(ascii: character))
  }

  /// Where this ASCII character is last.
  package func lastByteIndex(of character: Unicode.Scalar) -> Index? {
    utf8.lastIndex(of: UInt8(ascii: character))
  }

  /// The parts between these ASCII characters, as `split` returns them.
  package func byteSplit(
    separator: Unicode.Scalar, maxSplits: Int = .max, omittingEmptySubsequences: Bool = true
  ) -> [SubSequence] {
    byteSplit(maxSplits: maxSplits, omittingEmptySubsequences: omittingEmptySubsequences) {
      $0 == UInt8(ascii: separator)
    }
  }

  /// The parts between the bytes that fulfil a condition. It must hold for ASCII only.
  package func byteSplit(
    maxSplits: Int = .max, omittingEmptySubsequences: Bool = true,
    whereSeparator isSeparator: (UInt8) -> Bool
  ) -> [SubSequence] {
    utf8.split(
      maxSplits: maxSplits, omittingEmptySubsequences: omittingEmptySubsequences,
      whereSeparator: isSeparator
    ).map { self[$0.startIndex..<$0.endIndex] }
  }

  /// Without these ASCII characters at its start.
  package func droppingBytes(_ characters: String) -> SubSequence {
    let start = utf8.firstIndex { byte in !characters.utf8.contains(byte) }
    return self[(start ?? endIndex)...]
  }

  /// Without these ASCII characters at its start and its end.
  package func trimmingBytes(_ characters: String) -> SubSequence {
    let start = droppingBytes(characters)
    let last = start.utf8.lastIndex { byte in !characters.utf8.contains(byte) }
    return start[..<(last.map { start.utf8.index(after: $0) } ?? start.startIndex)]
  }

  /// What precedes the first of these ASCII characters.
  package func prefix(beforeAnyOf characters: String) -> SubSequence {
    self[..<(utf8.firstIndex { byte in characters.utf8.contains(byte) } ?? endIndex)]
  }

  /// Each occurrence of an ASCII character replaced by a text.
  package func replacingBytes(_ character: Unicode.Scalar, with text: String) -> String {
    byteSplit(separator: character, omittingEmptySubsequences: false).joined(separator: text)
  }
}

/// Text with a meaning for a kernel or a protocol, compared and split by its bytes.
///
/// Swift compares by `Character` and by canonical equivalence: `/` before U+0301, or after U+0600,
/// is no `/`; U+037E equals `;`; two names that are two files may be equal. So paths, fields, hosts
/// and lists use these methods, and `Scripts/lint` refuses the others.
extension StringProtocol where UTF8View: BidirectionalCollection, SubSequence == Substring {
  /// Whether its bytes are those of `other`.
  package func isByteEqual(_ other: some StringProtocol) -> Bool {
    withBytes(and: other) { $0.count == $1.count && $0.elementsEqual($1) }
  }

  /// Whether its bytes begin with those of `prefix`.
  package func hasBytePrefix(_ prefix: some StringProtocol) -> Bool {
    withBytes(and: prefix) { $0.starts(with: $1) }
  }

  /// Whether its bytes end with those of `suffix`.
  package func hasByteSuffix(_ suffix: some StringProtocol) -> Bool {
    withBytes(and: suffix) { $0.suffix($1.count).elementsEqual($1) }
  }

  /// The bytes of both. Nearly every text has them in one piece, and then they are compared in a
  /// fraction of the time that the views of a text take.
  private func withBytes(
    and other: some StringProtocol,
    _ body: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> Bool
  ) -> Bool {
    let result = utf8.withContiguousStorageIfAvailable { own in
      other.utf8.withContiguousStorageIfAvailable { body(own, $0) }
    }
    return (result ?? nil)
      ?? Array(utf8).withUnsafeBufferPointer { own in
        Array(other.utf8).withUnsafeBufferPointer { body(own, $0) }
      }
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
  package func droppingBytes(_ characters: StaticString) -> SubSequence {
    let start = characters.withUTF8Buffer { set in utf8.firstIndex { !set.contains($0) } }
    return self[(start ?? endIndex)...]
  }

  /// Without these ASCII characters at its start and its end.
  package func trimmingBytes(_ characters: StaticString) -> SubSequence {
    let start = droppingBytes(characters)
    let last = characters.withUTF8Buffer { set in start.utf8.lastIndex { !set.contains($0) } }
    return start[..<(last.map { start.utf8.index(after: $0) } ?? start.startIndex)]
  }

  /// What precedes the first of these ASCII characters.
  package func prefix(beforeAnyOf characters: StaticString) -> SubSequence {
    let end = characters.withUTF8Buffer { set in utf8.firstIndex { set.contains($0) } }
    return self[..<(end ?? endIndex)]
  }

  /// Each occurrence of an ASCII character replaced by a text.
  package func replacingBytes(_ character: Unicode.Scalar, with text: String) -> String {
    byteSplit(separator: character, omittingEmptySubsequences: false).joined(separator: text)
  }
}

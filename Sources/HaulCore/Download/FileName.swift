/// A name that is safe as one path component, on this system and others.
///
/// Unicode is not normalised: FoundationEssentials cannot convert to NFC. Swift compares
/// canonically equal names as equal, so two forms of a name are one name here.
package struct FileName: Hashable, Sendable {
  /// The name: never empty, without separators or controls, at most `byteLimit` bytes.
  package let text: String
  /// Whether `text` differs from the original name, so that the user is informed of the new one.
  package let wasChanged: Bool

  /// A file name has at most 255 bytes; `NAME (999).EXT.haul.journal` must fit too.
  package static let byteLimit = 255 - maximumSuffix - " (999)".utf8.count
  /// The name for an address that has none.
  package static let fallback = "download"

  /// A name that the user gave in full: used as it is.
  package init(exactly text: String) {
    self.text = text
    wasChanged = false
  }

  /// The ends of the names of Haul's own files, beside the file that they belong to.
  package static let (partSuffix, journalSuffix) = (".haul.part", ".haul.journal")
  static let ownSuffixes = [partSuffix, journalSuffix]
  private static let maximumSuffix = journalSuffix.utf8.count

  /// The name from the user's address, never from a redirect: the last path component, decoded
  /// once, without the query; `download` if that is empty. A leading dot is kept.
  package init(_ url: ResourceURL) {
    // A plain name has no escapes, and the directories before it do not matter.
    let plain = url.path.utf8.withContiguousStorageIfAvailable(Self.plain) ?? nil
    self =
      plain ?? Self.safe(PercentCoding.decoded(url.path), keepingDot: true)
      ?? FileName(plain: Self.fallback, wasChanged: false)
  }

  /// The name from `Content-Disposition`, already decoded; nil if no safe name is left: then the
  /// address decides.
  package init?(contentDisposition name: String) {
    guard let name = Self.safe(Array(name.utf8), keepingDot: false) else { return nil }
    self = name
  }

  /// The name that an answer suggests; nil without a readable one.
  package init?(_ headers: HeaderFields) {
    guard let suggested = ContentDisposition(headers)?.fileName else { return nil }
    self.init(contentDisposition: suggested)
  }

  /// The path below a directory that a server chooses, such as the key of an object: each name in
  /// it is safe as one that a server sends. Nil for what is no such path: a name is empty, `.` or
  /// `..`, or nothing is left of it.
  package static func path(chosenByServer path: String) -> String? {
    var names: [String] = []
    for name in path.pathNames {
      guard let safe = FileName(contentDisposition: name) else { return nil }
      names.append(safe.text)
    }
    return names.joined(separator: "/")
  }

  /// The directories of the path of an address, below its server, each safe as the name of a file
  /// from an address is. Nil if one is empty, `.` or `..`, or has a percent-encoded separator.
  package static func directories(of url: ResourceURL) -> [String]? {
    directories(url.path.pathNames.dropFirst().dropLast().map(PercentCoding.decoded))
  }

  /// The same of the key of an object, which is not percent-encoded.
  package static func directories(ofKey key: String) -> [String]? {
    directories(key.pathNames.dropLast().map { Array($0.utf8) })
  }

  private static func directories(_ names: [[UInt8]]) -> [String]? {
    var directories: [String] = []
    for name in names {
      guard !name.contains(where: isSeparator), let safe = safe(name, keepingDot: true) else {
        return nil
      }
      directories.append(safe.text)
    }
    return directories
  }

  /// The name that the user wrote; nil if nothing is left. A leading dot is kept.
  package init?(user name: String) {
    guard let name = Self.safe(Array(name.utf8), keepingDot: true) else { return nil }
    self = name
  }

  private init(plain text: String, wasChanged: Bool) {
    self.text = text
    self.wasChanged = wasChanged
  }

  /// `NAME (n).EXT`; `.tar.gz` and the like stay together. Shortened so that the journal's name
  /// fits.
  package func numbered(_ n: Int) -> FileName {
    let parts = FileNameParts(text)
    let numbered = parts.shortened(to: 255 - Self.maximumSuffix, inserting: " (\(n))")
    return FileName(plain: numbered, wasChanged: true)
  }

  private static func safe(_ bytes: [UInt8], keepingDot: Bool) -> FileName? {
    if let name = bytes.withUnsafeBufferPointer(plain) { return name }
    let start = bytes.withUnsafeBufferPointer(lastStart)
    let raw = text(bytes[start...])
    let trimmed = trim(replaceReserved(raw))
    guard !isBlank(trimmed) else { return nil }
    let harmless = shortened(neutralise(trimmed, keepingDot: keepingDot))
    // Cutting may have exposed a space, a dot, or an active extension.
    let final = shortened(neutralise(harmless, keepingDot: keepingDot))
    guard !final.isEmpty else { return nil }
    return FileName(plain: final, wasChanged: !final.utf8.elementsEqual(bytes[start...]))
  }
}

extension FileName {
  /// The last component, if it is safe as it is.
  private static func plain(_ bytes: UnsafeBufferPointer<UInt8>) -> FileName? {
    let start = lastStart(bytes)
    guard isSafeAsIs(bytes[start...]) else { return nil }
    return FileName(plain: String(decoding: bytes[start...], as: UTF8.self), wasChanged: false)
  }

  /// Where the last component begins.
  private static func lastStart(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
    bytes.lastIndex(where: isSeparator).map { $0 + 1 } ?? 0
  }

  /// Whether it is safe without changes. Most names have only letters, digits and few signs, and
  /// this check is fast.
  private static func isSafeAsIs(_ name: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    guard name.count <= byteLimit, let first = name.first, let last = name.last,
      isLetterOrDigit(first), isLetterOrDigit(last),
      name.allSatisfy({ isLetterOrDigit($0) || isSign($0) })
    else { return false }
    return !ActiveNames.containPlain(name)
  }

  private static func isSeparator(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\")
  }

  private static func isSign(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    default: false
    }
  }

  private static func shortened(_ name: String) -> String {
    trim(FileNameParts(name).shortened(to: byteLimit, inserting: ""))
  }
}

extension FileName: CustomStringConvertible {
  package var description: String { text }
}

extension FileName {
  /// The bytes as text; each byte that is not UTF-8 becomes `%XX`.
  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    var text = ""
    var rest = bytes
    while let byte = rest.first {
      // The shortest valid prefix is one scalar.
      let scalar = (1...4).lazy.compactMap { String(validating: rest.prefix($0), as: UTF8.self) }
        .first
      text += scalar ?? PercentCoding.encoded(byte)
      rest.removeFirst(scalar?.utf8.count ?? 1)
    }
    return text
  }

  /// Without controls and invisible formatting (U+202E reverses `gpj.exe`); characters that other
  /// systems reserve become `_`.
  private static func replaceReserved(_ text: String) -> String {
    var scalars = String.UnicodeScalarView()
    for scalar in text.unicodeScalars where !isInvisible(scalar) {
      scalars.append(reserved.contains(scalar) ? "_" : scalar)
    }
    return String(scalars)
  }

  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    // Most names are ASCII, and the table of categories is large.
    if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
    return switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }

  /// Without leading spaces and trailing spaces and dots, which some systems drop by themselves.
  ///
  /// By scalar: a dot with a combining mark is another character, but still a dot to the file
  /// system.
  private static func trim(_ text: String) -> String {
    var scalars = text.unicodeScalars[...]
    while let first = scalars.first, isSpace(first) { scalars.removeFirst() }
    while let last = scalars.last, isSpace(last) || last == "." { scalars.removeLast() }
    return String(scalars)
  }

  /// Whether nothing of it is visible, or only dots and spaces are.
  private static func isBlank(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy {
      $0 == "." || isSpace($0) || isIgnorable($0)
    }
  }

  /// Whether some file systems ignore it.
  private static func isIgnorable(_ scalar: Unicode.Scalar) -> Bool {
    !scalar.isASCII && scalar.properties.isDefaultIgnorableCodePoint
  }

  private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII ? scalar == " " : scalar.properties.generalCategory == .spaceSeparator
  }

  /// Puts `_` before a name that a shell or system would interpret, and makes active names inert.
  private static func neutralise(_ text: String, keepingDot: Bool) -> String {
    let key = ActiveNames.key(text)
    let first = text.unicodeScalars.first { !isIgnorable($0) }
    let startsOddly = first == "-" || first == "~" || (first == "." && !keepingDot)
    let isSpecial = startsOddly || ActiveNames.isDevice(key) || ActiveNames.isRead(key)
    return (isSpecial ? "_" : "") + text
      + (ActiveNames.hasActiveExtension(key) ? ".download" : "")
  }

  private static let reserved = Set("\"*/:<>?\\|".unicodeScalars)
}

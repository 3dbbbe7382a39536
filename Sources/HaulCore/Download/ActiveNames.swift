/// Names that systems treat specially, even if their directory is only listed.
enum ActiveNames {
  /// A name as file systems compare it that ignore case, width or invisible characters, for
  /// comparisons with ASCII. Without dots and spaces at the end, which some systems drop.
  static func key(_ name: String) -> [UInt8] {
    var key: [UInt8] = []
    for scalar in name.unicodeScalars {
      if scalar.isASCII {
        key.append(lowercased(UInt8(truncatingIfNeeded: scalar.value)))
      } else if (0xFF01...0xFF5E).contains(scalar.value) {
        // Full-width forms of ASCII.
        key.append(lowercased(UInt8(truncatingIfNeeded: scalar.value - 0xFEE0)))
      } else if !scalar.properties.isDefaultIgnorableCodePoint {
        // U+017F and U+212A are ASCII letters in one of the cases.
        for upper in scalar.properties.uppercaseMapping.unicodeScalars {
          key += upper.properties.lowercaseMapping.utf8
        }
      }
    }
    while let last = key.last, last == UInt8(ascii: ".") || last == UInt8(ascii: " ") {
      key.removeLast()
    }
    return key
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }

  /// Whether a key has an extension that must not stay.
  static func hasActiveExtension(_ key: [UInt8]) -> Bool {
    if FileName.ownSuffixes.contains(where: { key.suffix($0.utf8.count).elementsEqual($0.utf8) }) {
      return true
    }
    guard let dot = key.lastIndex(of: UInt8(ascii: ".")) else { return false }
    let text = key[(dot + 1)...]
    // Windows shows a file with a class as its extension as an object of that class.
    return extensions.contains(text) || (text.first == 0x7B && text.last == 0x7D)
  }

  /// Whether a key is the name of a file that a system reads or runs by itself.
  static func isRead(_ key: [UInt8]) -> Bool {
    names.contains(key[...])
  }

  /// Whether a key is a device of Windows, with any extension.
  static func isDevice(_ key: [UInt8]) -> Bool {
    var stem = key.prefix { $0 != UInt8(ascii: ".") }
    while stem.last == UInt8(ascii: " ") { stem.removeLast() }
    return devices.contains(stem)
  }

  /// Whether a name of ASCII letters, digits, `.`, `_` and `-` is one of these. Faster than the
  /// others, because most names are longer or have another extension.
  static func containPlain(_ name: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    let dot = UInt8(ascii: ".")
    let stem = name.firstIndex(of: dot).map { name[..<$0].count } ?? name.count
    let pathExtension = name.lastIndex(of: dot).map { name[($0 + 1)...].count } ?? .max
    guard
      name.count <= longestName || stem <= longestDevice || pathExtension <= longestExtension
    else { return false }
    let key = name.map(lowercased)
    return isRead(key) || isDevice(key) || hasActiveExtension(key)
  }

  /// Shortcuts and the like: their icon may be fetched from a server, which Windows then gives the
  /// user's credentials, or the name that is shown is in the file.
  private static let extensions = WordsByLength([
    "appref-ms", "desklink", "deskthemepack", "desktop", "fileloc", "inetloc", "kdelnk",
    "library-ms", "lnk", "mapimail", "mydocs", "pif", "scf", "search-ms",
    "searchconnector-ms", "settingcontent-ms", "shb", "shs", "theme", "themepack", "url", "webloc",
    "website", "zfsendtotarget",
  ])
  private static let longestExtension = "searchconnector-ms".utf8.count

  private static let names = WordsByLength([
    ".autoopen", ".autorun", ".directory", ".ds_store", "autoopen", "autorun", "autorun.inf",
    "autorun.sh", "desktop.ini", "thumbs.db",
  ])
  private static let longestName = "autorun.inf".utf8.count

  /// The longest name of a device without `$`.
  private static let longestDevice = "com1".utf8.count
  private static let devices = WordsByLength(
    ["con", "prn", "aux", "nul", "conin$", "conout$", "clock$"]
      + ["com", "lpt"].flatMap { port in "0123456789¹²³".map { "\(port)\($0)" } })
}

/// A few words, as bytes. A look compares those of its length only, and hashes nothing.
private struct WordsByLength: Sendable {
  private var words: [[[UInt8]]] = []

  init(_ texts: [String]) {
    for text in texts {
      let word = Array(text.utf8)
      while words.count <= word.count { words.append([]) }
      words[word.count].append(word)
    }
  }

  func contains(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.count < words.count && words[bytes.count].contains { $0[...] == bytes }
  }
}

/// A list of digests of files, such as `SHA256SUMS`: lines of GNU's programs (`HASH  name`), of BSD
/// and OpenSSL (`SHA256 (name) = HASH`), or a digest alone. Comments are passed over, and so is the
/// frame of an OpenPGP signature, which is not checked.
package struct ChecksumList: Hashable, Sendable {
  package struct Entry: Hashable, Sendable {
    /// As the list has it, maybe with directories; nil for a digest alone.
    package let name: String?
    package let checksum: Checksum
  }

  /// The most bytes that are read of a list: some hundred thousand lines.
  package static let maximumSize = 16 << 20
  /// A path of Linux is not longer.
  private static let longestName = 4096

  package private(set) var entries: [Entry] = []
  /// How many lines say nothing that is understood, or are outside of what is signed.
  package private(set) var unreadLines = 0
  /// Those of each last name, by their bytes.
  private var indices: [[UInt8]: [Int]] = [:]

  /// Where a line is, in an OpenPGP message with a readable text (RFC 9580, section 7).
  private enum Place { case outside, head, text, signature, after }

  /// - Parameter bytes: at most `maximumSize`; what follows is not read.
  package init(_ bytes: [UInt8]) {
    var (rest, place, isSigned) = (bytes.prefix(Self.maximumSize), Place.outside, false)
    // A mark of the byte order would hide what the first line is.
    if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
    while !rest.isEmpty {
      var line = rest.prefix { $0 != 0x0A }
      rest = rest[line.endIndex...].dropFirst()
      // One that belongs to a name is written `\r`.
      if line.last == 0x0D { line.removeLast() }
      let isEmpty = line.allSatisfy(Self.isSpace)
      switch (place, Self.mark(line)) {
      // What precedes the signed text is not signed, though a check of the file succeeds.
      case (.outside, .message):
        unreadLines += entries.count
        (entries, isSigned, place) = ([], true, .head)
      case (.outside, .signature), (.text, .signature): place = .signature
      case (.signature, .end): place = isSigned ? .after : .outside
      case (.head, nil) where isEmpty: place = .text
      case (.text, nil): take(line.starts(with: "- ".utf8) ? line.dropFirst(2) : line)
      case (.outside, nil): take(line)
      case (.signature, _): break
      default: unreadLines += isEmpty || line.starts(with: "Hash:".utf8) ? 0 : 1
      }
    }
    for (index, entry) in entries.enumerated() {
      guard let last = entry.name.flatMap({ FilePath($0).names.last }) else { continue }
      indices[Array(last.utf8), default: []].append(index)
    }
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  private enum Mark { case message, signature, end }

  private static func mark(_ line: ArraySlice<UInt8>) -> Mark? {
    guard line.starts(with: "-----".utf8) else { return nil }
    switch String(decoding: line, as: UTF8.self).trimmingBytes(" \t") {
    case "-----BEGIN PGP SIGNED MESSAGE-----": return .message
    case "-----BEGIN PGP SIGNATURE-----": return .signature
    case "-----END PGP SIGNATURE-----": return .end
    default: return nil
    }
  }

  private mutating func take(_ line: ArraySlice<UInt8>) {
    let line = line.drop(while: Self.isSpace)
    guard let first = line.first, first != UInt8(ascii: "#") else { return }
    let isEscaped = first == UInt8(ascii: "\\")
    let text = isEscaped ? line.dropFirst() : line
    guard let (name, checksum) = Self.gnu(text) ?? Self.bsd(text) else {
      unreadLines += 1
      return
    }
    guard let name else {
      entries.append(Entry(name: nil, checksum: checksum))
      return
    }
    guard let bytes = isEscaped ? Self.unescaped(name) : Array(name), !bytes.isEmpty,
      bytes.count <= Self.longestName, !bytes.contains(0),
      let name = String(validating: bytes, as: UTF8.self)
    else {
      unreadLines += 1
      return
    }
    entries.append(Entry(name: name, checksum: checksum))
  }

  private typealias Line = (name: ArraySlice<UInt8>?, checksum: Checksum)

  /// `HASH  name`, `HASH *name`, `HASH name`, or a digest alone.
  private static func gnu(_ line: ArraySlice<UInt8>) -> Line? {
    let digits = line.prefix { PercentCoding.nibble($0) != nil }
    guard let algorithm = algorithms[digits.count], let checksum = checksum(algorithm, digits)
    else { return nil }
    let rest = line.dropFirst(digits.count)
    guard !rest.allSatisfy(isSpace) else { return (nil, checksum) }
    guard let space = rest.first, isSpace(space) else { return nil }
    let name = rest.dropFirst()
    let isMarked = name.first == 0x20 || name.first == UInt8(ascii: "*")
    return (isMarked ? name.dropFirst() : name, checksum)
  }

  /// `SHA256 (name) = HASH`; OpenSSL writes `SHA2-256(name)= HASH`.
  private static func bsd(_ line: ArraySlice<UInt8>) -> Line? {
    guard let open = line.firstIndex(of: UInt8(ascii: "(")),
      let close = line.lastIndex(of: UInt8(ascii: ")")), open < close
    else { return nil }
    var tag = String(decoding: line[..<open], as: UTF8.self).trimmingBytes(" ").lowercased()
    if let size = tag.dropping(bytePrefix: "sha2-") { tag = "sha-\(size)" }
    let rest = line[(close + 1)...].drop { $0 == 0x20 }
    guard let algorithm = Checksum.Algorithm(name: tag), rest.first == UInt8(ascii: "=") else {
      return nil
    }
    let digits = rest.dropFirst().filter { !isSpace($0) }
    return checksum(algorithm, digits[...]).map { (line[(open + 1)..<close], $0) }
  }

  private static func checksum(
    _ algorithm: Checksum.Algorithm, _ digits: ArraySlice<UInt8>
  ) -> Checksum? {
    Checksum("\(algorithm.rawValue)=\(String(decoding: digits, as: UTF8.self))")
  }

  /// By the number of hexadecimal digits.
  private static let algorithms: [Int: Checksum.Algorithm] = [
    32: .md5, 40: .sha1, 64: .sha256, 96: .sha384, 128: .sha512,
  ]

  /// Nil for an escape that GNU's programs do not write.
  private static func unescaped(_ name: ArraySlice<UInt8>) -> [UInt8]? {
    var (rest, bytes) = (name, [UInt8]())
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\") else {
        bytes.append(byte)
        continue
      }
      switch rest.popFirst() {
      case UInt8(ascii: "\\"): bytes.append(byte)
      case UInt8(ascii: "n"): bytes.append(0x0A)
      case UInt8(ascii: "r"): bytes.append(0x0D)
      default: return nil
      }
    }
    return bytes
  }
}

extension ChecksumList {
  /// The names in the order of the list, each with all its digests.
  package var files: [(name: String, checksums: [Checksum])] {
    var (files, known) = ([(name: String, checksums: [Checksum])](), [[UInt8]: Int]())
    for entry in entries {
      guard let name = entry.name else { continue }
      if let index = known[Array(name.utf8)] {
        files[index].checksums.append(entry.checksum)
      } else {
        known[Array(name.utf8)] = files.count
        files.append((name, [entry.checksum]))
      }
    }
    return files
  }

  /// The digests without a name.
  package var nameless: [Checksum] { entries.filter { $0.name == nil }.map(\.checksum) }

  /// What it says of a file: of the entries with its last name, those whose whole path is the end
  /// of its path, and of these the longest; if there is none, those that share most directories
  /// with it. Two digests of one algorithm are both returned.
  package func checksums(ofFileAt path: String) -> [Checksum] {
    let names = FilePath(path).names
    guard let last = names.last else { return [] }
    var (checksums, best) = ([Checksum](), 0)
    for index in indices[Array(last.utf8)] ?? [] {
      let entry = entries[index]
      let own = FilePath(entry.name ?? "").names.filter { !$0.isByteEqual(".") }
      let shared = zip(own.reversed(), names.reversed()).prefix { $0.isByteEqual($1) }.count
      let rank = shared == own.count ? shared + Self.longestName : shared
      if rank > best { (checksums, best) = ([], rank) }
      if rank == best, !checksums.contains(entry.checksum) { checksums.append(entry.checksum) }
    }
    return checksums
  }
}

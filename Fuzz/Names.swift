import HaulCore

let nameTargets = [
  Target(name: "file-name") { input in
    let text = input.text
    let suggested = FileName(contentDisposition: text)
    for name in [suggested, FileName(user: text)] {
      guard let name else { continue }
      expectSafe(name.text)
      expectSafe(name.numbered(1).text)
      expect(FileName(user: name.text)?.text == name.text, "a safe name is made safe otherwise")
    }
    if let suggested {
      expect(!suggested.text.hasBytePrefix("."), "a server's leading dot is kept")
    }
  },
  Target(name: "resource-url") { input in
    guard let url = try? ResourceURL(input.text) else { return }
    expect(["http", "https"].contains(url.origin.scheme), "scheme \(url.origin.scheme)")
    expect(!url.origin.host.isEmpty && (1...65535).contains(url.origin.port), "an odd origin")
    expect(url.path.hasBytePrefix("/"), "path \(url.path)")
    expectSafe(FileName(url).text)
    expectRedacted(url)
    guard let again = try? ResourceURL(url.absoluteString) else {
      return expect(false, "it does not read what it says: \(url.absoluteString)")
    }
    expect(again == url.taking(nil), "it reads what it says as another address")
  },
  Target(name: "checksum") { input in
    guard let checksum = Checksum(input.text) else { return }
    expect(checksum.bytes.count == checksum.algorithm.byteCount, "a digest of another length")
    expect(Checksum(checksum.description) == checksum, "it does not read what it says")
  },
  Target(name: "checksum-list") { input in
    let list = ChecksumList(input.bytes)
    for entry in list.entries {
      guard let name = entry.name else { continue }
      expect((1...4096).contains(name.utf8.count) && !name.utf8.contains(0), "a name: \(name)")
      guard !FilePath(name).names.isEmpty else { continue }
      expect(list.checksums(ofFileAt: name).contains(entry.checksum), "\(name) is not found")
    }
    let named = list.files.reduce(0) { $0 + $1.checksums.count }
    expect(named + list.nameless.count == list.entries.count, "an entry is lost")
  },
  Target(name: "address-pattern") { input in
    guard let pattern = try? AddressPattern(input.text) else { return }
    expect(pattern.count > 0, "it stands for nothing")
    let (first, last) = (pattern[0], pattern[pattern.count - 1])
    expect(first.values.count == last.values.count, "other values")
    expect(pattern.isPattern || first.values.isEmpty && pattern.count == 1, "no pattern")
    expect(
      input.text.utf8.contains(where: "[{\\".utf8.contains) || first.text.isByteEqual(input.text),
      "a text is changed")
  },
  Target(name: "transfer-id") { input in
    guard let id = TransferID(input.text) else { return }
    expect(TransferID(id.description) == id, "it does not read what it says")
    expect(id.description.utf8.count == 8, "not eight characters")
  },
  Target(name: "terminal-text") { input in
    let escaped = TerminalText.escaped(input.text)
    expect(TerminalText.escaped(escaped) == escaped, "escaped twice")
    for scalar in escaped.unicodeScalars {
      expect(scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value), "a control")
      expect(!isBidi(scalar), "a control of direction")
    }
    for cells in [0, 1, 7, 40] {
      let width = TerminalText.width(TerminalText.cut(escaped, to: cells))
      expect(width <= cells, "\(width) cells in \(cells)")
    }
  },
]

/// What every name that came from outside must be.
func expectSafe(_ name: String) {
  expect(!name.isEmpty && name != "." && name != "..", "the name \(name)")
  expect(name.utf8.count + ".haul.journal".utf8.count <= 255, "\(name.utf8.count) bytes")
  for scalar in name.unicodeScalars {
    expect(scalar != "/" && scalar != "\\" && scalar != ":", "a separator")
    expect(scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value), "a control")
    expect(!isBidi(scalar), "a control of direction")
  }
  expect(
    !name.hasBytePrefix("-") && !name.hasBytePrefix("~") && !name.hasByteSuffix(" "),
    "the name \(name)")
  expect(name.unicodeScalars.last != ".", "a dot at the end")
  expectInert(name)
}

/// No desktop may treat the file as a shortcut, a device or its own, whatever its file system
/// ignores in names.
private func expectInert(_ name: String) {
  var scalars = String.UnicodeScalarView()
  for scalar in name.unicodeScalars where !scalar.properties.isDefaultIgnorableCodePoint {
    let isWide = (0xFF01...0xFF5E).contains(scalar.value)
    scalars.append(isWide ? Unicode.Scalar(UInt8(scalar.value - 0xFEE0)) : scalar)
  }
  let bytes = Array(String(scalars).lowercased().utf8)
  for ending in [".lnk", ".url", ".scf", ".desktop", ".library-ms", ".theme", ".haul.part"] {
    expect(!bytes.suffix(ending.utf8.count).elementsEqual(ending.utf8), "the active name \(name)")
  }
  for stem in ["con", "nul", "com1", "conin$"] {
    let dot = UInt8(ascii: ".")
    expect(!bytes.prefix { $0 != dot }.elementsEqual(stem.utf8), "the device \(name)")
  }
  for whole in ["desktop.ini", "autorun.inf", "thumbs.db", ".directory"] {
    expect(!bytes.elementsEqual(whole.utf8), "the special file \(name)")
  }
}

func isBidi(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.value {
  case 0x202A...0x202E, 0x2066...0x2069, 0x200E, 0x200F, 0x61C: true
  default: false
  }
}

private func expectRedacted(_ url: ResourceURL) {
  let shown = url.redacted
  if let password = url.credentials?.password, password.utf8.count > 8 {
    let elsewhere = url.path + url.origin.host
    expect(!shown.contains(password) || elsewhere.contains(password), "a password is shown")
  }
  let query = url.pathAndQuery.drop { $0 != "?" }.dropFirst()
  for pair in query.byteSplit(separator: "&") {
    let value = pair.drop { $0 != "=" }.dropFirst()
    guard value.utf8.count > 3, value != "***" else { continue }
    expect(!shown.drop { $0 != "?" }.contains("=\(value)"), "a value of the query is shown")
  }
}

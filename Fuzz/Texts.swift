import HaulCore

/// Text whose meaning is that of its bytes, compared with a model that has only bytes.
let textTargets = [
  Target(name: "path") { input in
    let text = input.text
    let path = FilePath(text)
    let names = pieces(text, at: 0x2F).filter { $0 != [0x2E] }
    expect(path.names.map { Array($0.utf8) } == names, "names of \(text)")
    let leadsUp = names.contains([0x2E, 0x2E])
    expect(path.leadsUp == leadsUp, "'..' in \(text)")
    expect(FilePath(path.text) == path, "normalised twice")
    expect((FilePath("\(text)x") == path) == false, "equal to another path")
    let root = choice(["/", "/r", "/r/\u{301}x", "/T\u{E9}l"], input)
    if let below = path.names(below: FilePath(root)) {
      let whole = pieces(root, at: 0x2F) + below.map { Array($0.utf8) }
      expect(!leadsUp && text.utf8.first == 0x2F && whole == names, "\(text) below \(root)")
    }
    let (directory, name) = text.pathParts
    expect(!name.utf8.contains(0x2F), "a slash in a name")
    expect(
      directory == "." || pieces(directory.appendingPath(name), at: 0x2F) == pieces(text, at: 0x2F),
      "the parts of \(text)")
    let prefixes = text.pathPrefixes.last.map { pieces($0, at: 0x2F) } ?? []
    expect(prefixes == pieces(text, at: 0x2F), "the prefixes of \(text)")
  },
  Target(name: "byte-text") { input in
    let text = input.text
    let bytes = Array(text.utf8)
    let separator = choice(["/", ":", ";", " ", "=", ","] as [Unicode.Scalar], input)
    let byte = UInt8(ascii: separator)
    let parts = text.byteSplit(separator: separator, omittingEmptySubsequences: false)
    let model = bytes.split(separator: byte, omittingEmptySubsequences: false).map { Array($0) }
    expect(parts.map { Array($0.utf8) } == model, "split at \(separator)")
    let first = text.firstByteIndex(of: separator).map { text.utf8[..<$0].count }
    expect(first == bytes.firstIndex(of: byte), "the first \(separator)")
    let last = text.lastByteIndex(of: separator).map { text.utf8[..<$0].count }
    expect(last == bytes.lastIndex(of: byte), "the last \(separator)")
    let mark = String(separator)
    expect(text.hasBytes(mark) == bytes.contains(byte), "whether \(separator) is there")
    expect(text.hasBytePrefix(mark) == (bytes.first == byte), "whether it begins so")
    expect(text.hasByteSuffix(mark) == (bytes.last == byte), "whether it ends so")
    if let rest = text.dropping(bytePrefix: mark) {
      expect(Array(rest.utf8) == Array(bytes.dropFirst()), "the rest")
    }
    let trimmed = Array(text.trimmingBytes("/:; =,").utf8)
    let ends = [trimmed.first, trimmed.last].compactMap(\.self)
    expect(!ends.contains { "/:; =,".utf8.contains($0) }, "trimmed")
  },
  Target(name: "server-address") { input in
    let base = choice(bases, input)
    if let target = try? base.named(by: input.text) { expectMayFollow(target, base) }
    if let target = try? base.uploadTarget(named: input.text) {
      expect(
        target.credentials == nil || target.origin == base.origin, "a password leaves its origin")
      expectMayFollow(target.taking(nil), base)
    }
  },
]

private let bases = ["https://u:secretword@h.example:8443/a/b?c=d", "http://h.example/f"]
  .compactMap { try? ResourceURL($0) }

/// One of them, by the last byte: a run tries all.
private func choice<Value>(_ values: [Value], _ input: Input) -> Value {
  values[Int(input.bytes.last ?? 0) % values.count]
}

private func pieces(_ text: String, at byte: UInt8) -> [[UInt8]] {
  text.utf8.split(separator: byte).map { Array($0) }
}

private func expectMayFollow(_ target: ResourceURL, _ base: ResourceURL) {
  expect(target.credentials == nil, "a user name of the server")
  expect(
    target.origin.scheme == "https"
      || base.origin.scheme == "http" && target.origin.scheme == "http",
    "from https to \(target.origin.scheme)")
  var request = FetchRequest(url: base, headers: HeaderFields([("Authorization", "secretword")]))
  request.allowInsecure = true
  let next = request.redirected(to: target)
  guard target.origin != base.origin else { return }
  expect(next.hasLeftOrigin && next.redirectingOrigin == base.origin, "its origin is forgotten")
  expect(next.headers.fields.isEmpty && !next.allowInsecure, "secrets leave their origin")
  expect(next.url.credentials?.password != "secretword", "a password leaves its origin")
}

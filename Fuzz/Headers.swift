import HaulCore

let headerTargets = [
  Target(name: "content-range") { input in
    guard let range = ContentRange(input.text) else { return }
    if let bytes = range.range {
      expect(bytes.lowerBound >= 0 && bytes.length > 0, "an empty range \(bytes)")
      expect(range.total.map { bytes.upperBound <= $0 } ?? true, "a range beyond its total")
    } else {
      expect(range.total != nil, "neither a range nor a length")
    }
    expect(ContentRange(written(range)) == range, "it does not read what it says")
  },
  Target(name: "content-length") { input in
    let parts = input.parts
    let fields = HeaderFields(parts.map { ("content-length", $0) })
    guard case .bytes(let length) = ContentLength(fields) else { return }
    expect(length >= 0, "a negative length")
    for part in parts {
      for value in part.byteSplit(separator: ",", omittingEmptySubsequences: false) {
        expect(ContentLength.length(String(value)) == length, "one of several that differ")
      }
    }
  },
  Target(name: "retry-after") { input in
    let text = input.text
    for now in [0, 1_700_000_000.25, -1e12, 1e12] {
      guard let delay = RetryAfter.delay(text, now: now) else { continue }
      expect(delay >= .zero && delay <= RetryAfter.maximum, "a wait of \(delay)")
    }
  },
  Target(name: "http-date") { input in
    guard let date = HTTPDate(input.text, now: 1_700_000_000) else { return }
    expect(HTTPDate(secondsSince1970: date.secondsSince1970) == date, "a date that has no text")
    expect(HTTPDate(date.imfFixdate, now: 0) == date, "\(date.imfFixdate) is another date")
  },
  Target(name: "content-disposition") { input in
    guard let disposition = ContentDisposition(input.text) else { return }
    expect(!disposition.type.isEmpty, "no type")
    guard let suggested = disposition.fileName else { return }
    if let name = FileName(contentDisposition: suggested) { expectSafe(name.text) }
  },
  Target(name: "entity-tag") { input in
    guard let tag = EntityTag(input.text) else { return }
    expect(tag.weaklyMatches(tag), "a tag that is not itself")
    expect(tag.stronglyMatches(tag) == !tag.isWeak, "a weak tag that matches strongly")
    expect(!tag.opaque.contains(0x22), "a quote within the tag")
  },
  Target(name: "validator") { input in
    let parts = input.parts
    let validators = [parts.prefix(3), parts.dropFirst(3).prefix(3)].map { parts in
      Validator(
        HeaderFields(Array(zip(["etag", "last-modified", "date"], parts))), now: 1_700_000_000)
    }
    let (old, new) = (validators[0], validators[1])
    expect((old.ifRange != nil) <= old.isStrong, "If-Range of what proves nothing")
    expect(old.comparison(with: old) != .different, "another version than itself")
    if old.isStrong { expect(old.comparison(with: old) == .same, "not its own version") }
    expect(
      (old.comparison(with: new) == .different) == (new.comparison(with: old) == .different),
      "different in one direction only")
    if old.comparison(with: new) == .same { expect(old.isStrong, "the same by a weak one") }
  },
  Target(name: "digests") { input in
    let text = input.text
    for checksums in [
      ReprDigest.checksums(reprDigest: text), ReprDigest.checksums(digest: text),
    ] {
      expect(Set(checksums.map(\.algorithm)).count == checksums.count, "two of one algorithm")
      for checksum in checksums {
        expect(checksum.bytes.count == checksum.algorithm.byteCount, "a digest of another length")
        expect(Checksum(checksum.description) == checksum, "it does not read what it says")
      }
    }
  },
  Target(name: "response") { input in
    let parts = input.parts
    let status = Int(input.bytes.first ?? 0) + 200
    let names = [
      "content-range", "content-length", "etag", "last-modified", "date", "content-type",
      "content-encoding", "transfer-encoding", "retry-after",
    ]
    let head = ResponseHead(
      status: input.bytes.isEmpty ? 206 : [200, 206, 416, status][Int(status % 4)],
      headers: HeaderFields(zip(names, parts.dropFirst()).filter { !$0.1.isEmpty }), url: address)
    var request = FetchRequest(url: address)
    request.firstByte = Int64(parts.first?.utf8.count ?? 0)
    judge(head, request)
  },
]

private let address: ResourceURL = {
  do { return try ResourceURL("https://h.example/f") } catch { preconditionFailure("\(error)") }
}()

private func judge(_ head: ResponseHead, _ request: FetchRequest) {
  switch ResponseJudge(wallSeconds: 1_700_000_000).verdict(on: head, to: request) {
  case .range(let body):
    expect(head.status == 206 && body.start == request.firstByte, "a range of other bytes")
    expect(body.end.map { $0 > body.start } ?? true, "an empty range")
    if let end = body.end, let total = body.total { expect(end <= total, "beyond the whole") }
  case .whole(let body):
    expect(head.status == 200 && body.start == 0, "a whole that is a part")
    expect(body.end != 0, "an empty whole")
  case .failure(let error): expect(!error.message.isEmpty, "a failure without words")
  case .unsatisfiable, .unusableRange: expect(head.status != 200, "a 200 that is no file")
  case .empty: break
  }
}

private func written(_ range: ContentRange) -> String {
  let total = range.total.map(String.init) ?? "*"
  guard let bytes = range.range else { return "bytes */\(total)" }
  return "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(total)"
}

extension Bool {
  /// Whether the second follows from the first.
  fileprivate static func <= (left: Bool, right: Bool) -> Bool { !left || right }
}

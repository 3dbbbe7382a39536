import HaulCore
import Testing

/// What the answers of a remote source's server mean for an upload.
@Suite struct RemoteVersionTests {
  private static let date = "Tue, 10 Nov 2020 10:00:00 GMT"
  private static let now = "Wed, 11 Nov 2020 10:00:00 GMT"

  private static func source(
    _ change: (inout DownloadRequest) -> Void = { _ in }
  ) throws -> DownloadRequest {
    var source = DownloadRequest(url: try ResourceURL("https://h.example/f?k=1"), to: .stream)
    source.headers = [("A", "b")]
    change(&source)
    return source
  }

  private static func head(
    _ status: Int, _ fields: (String, String)...
  ) throws -> ResponseHead {
    ResponseHead(
      status: status, headers: HeaderFields(fields), url: try ResourceURL("https://h.example/f"))
  }

  private static func reading(
    _ head: ResponseHead, _ change: (inout DownloadRequest) -> Void = { _ in }
  ) throws -> RemoteVersion.Reading {
    let source = try source(change)
    return try RemoteVersion.answer(
      head, to: RemoteVersion.probe(of: source), of: source,
      for: ResourceURL("https://store.example/b/k"), wallSeconds: 1_700_000_000
    ).reading
  }

  private static let tag = ("ETag", "\"v1\"")
  private static let first = ("Content-Range", "bytes 0-99/100")

  private static func version(
    _ validator: (String, String)...
  ) throws -> RemoteVersion {
    let fields = [first] + validator
    let head = ResponseHead(
      status: 206, headers: HeaderFields(fields), url: try ResourceURL("https://h.example/f"))
    guard case .ranges(let version) = try reading(head) else {
      throw TransferError(.internal, "no ranges")
    }
    return version
  }

  @Test func `The first bytes are asked for, with the fields of the source`() throws {
    let probe = RemoteVersion.probe(of: try Self.source())
    #expect((probe.firstByte, probe.lastByte, probe.ifRange) == (0, 65_535, nil))
    #expect(probe.headers["A"] == "b")
  }

  @Test func `A range, a length and a strong validator make parts possible`() throws {
    #expect(try Self.version(Self.tag).length == 100)
    #expect(try Self.version(("Last-Modified", Self.date), ("Date", Self.now)).length == 100)
  }

  @Test func `Parts of an earlier run count only with the same tag, also a weak one`() throws {
    let (date, now) = (("Last-Modified", Self.date), ("Date", Self.now))
    func identity(_ version: RemoteVersion) -> SourceIdentity {
      SourceIdentity(version, address: "a")
    }
    let first = identity(try Self.version(date, now, ("ETag", "W/\"1\"")))
    #expect(identity(try Self.version(date, now, ("ETag", "W/\"1\""))) == first)
    #expect(identity(try Self.version(date, now, ("ETag", "W/\"2\""))) != first)
    #expect(identity(try Self.version(date, now)) != first)
    // A server that never changes its strong tag changes the date.
    let strong = identity(try Self.version(date, now, ("ETag", "\"1\"")))
    let later = ("Last-Modified", "Sun, 06 Nov 1994 08:40:00 GMT")
    #expect(identity(try Self.version(later, now, ("ETag", "\"1\""))) != strong)
  }

  @Test func `Without one of them the source is a stream`() throws {
    let heads = [
      try Self.head(200, Self.tag, ("Content-Length", "100")),
      try Self.head(206, Self.first),
      try Self.head(206, Self.first, ("ETag", "W/\"v1\"")),
      try Self.head(206, Self.first, ("Last-Modified", Self.date), ("Date", Self.date)),
      try Self.head(206, Self.tag, ("Content-Range", "bytes 0-0/*")),
      try Self.head(206, Self.tag, ("Content-Range", "bytes 0-0/100")),
      // Wrong ranges.
      try Self.head(206, Self.tag, ("Content-Range", "bytes 1-1/100")),
      try Self.head(206, Self.tag, ("Content-Range", "bytes 0-9/100")),
      try Self.head(416, Self.tag, ("Content-Range", "bytes */0")),
    ]
    for head in heads { #expect(try Self.reading(head) == .stream, "\(head.headers)") }
  }

  @Test(arguments: [400, 403, 405, 406, 501])
  func `A range that a firewall may refuse makes it a stream`(status: Int) throws {
    #expect(try Self.reading(try Self.head(status)) == .stream)
  }

  @Test func `A refusal is one of the source; too long a file is refused`() throws {
    let refused = #expect(throws: TransferError.self) { try Self.reading(try Self.head(404)) }
    #expect(refused?.code == .notFound)
    #expect(refused?.message.hasPrefix("the source: ") == true)
    #expect(refused?.ofSource == refused)
    let long = #expect(throws: TransferError.self) {
      try Self.reading(try Self.head(206, Self.first, Self.tag)) { $0.maximumSize = 99 }
    }
    #expect(long?.code == .tooLarge)
  }

  private static func check(
    _ version: RemoteVersion, _ head: ResponseHead, _ part: ByteRange = 10..<20
  ) throws {
    try version.check(
      head, to: version.request(for: part, of: try source()), for: part,
      wallSeconds: 1_700_000_000)
  }

  @Test func `A part is asked for on condition of its version`() throws {
    let version = try Self.version(Self.tag)
    let request = version.request(for: 10..<20, of: try Self.source())
    #expect((request.firstByte, request.lastByte) == (10, 19))
    #expect(request.ifRange == "\"v1\"")
    try Self.check(
      version, try Self.head(206, Self.tag, ("Content-Range", "bytes 10-19/100")))
  }

  @Test func `Another version is never used`() throws {
    let version = try Self.version(Self.tag)
    let heads = [
      try Self.head(206, ("ETag", "\"v2\""), ("Content-Range", "bytes 10-19/100")),
      try Self.head(206, Self.tag, ("Content-Range", "bytes 10-19/101")),
      try Self.head(200, ("ETag", "\"v2\""), ("Content-Length", "100")),
      try Self.head(200, Self.tag, ("Content-Length", "99")),
      try Self.head(200, Self.tag, ("Content-Length", "0")),
      try Self.head(412), try Self.head(416, ("Content-Range", "bytes */5")),
    ]
    for head in heads {
      let error = #expect(throws: TransferError.self) { try Self.check(version, head) }
      #expect(error?.code == .sourceChanged, "\(head.status) \(head.headers)")
    }
  }

  @Test func `Other bytes than those of the part are never used`() throws {
    let version = try Self.version(Self.tag)
    let heads = [
      try Self.head(206, Self.tag, ("Content-Range", "bytes 10-18/100")),
      try Self.head(206, Self.tag, ("Content-Range", "bytes 10-20/100")),
      try Self.head(206, Self.tag, ("Content-Range", "bytes 9-18/100")),
      try Self.head(206, Self.tag, ("Content-Range", "bytes 10-19/*")),
      try Self.head(206, Self.tag), try Self.head(206, ("Content-Range", "bytes 10-19/100")),
      try Self.head(200, Self.tag, ("Content-Length", "100")),
    ]
    for head in heads {
      let error = #expect(throws: TransferError.self) { try Self.check(version, head) }
      #expect(error?.code == .protocolViolation, "\(head.status) \(head.headers)")
    }
  }

  @Test func `Options that a source cannot have are refused`() throws {
    let changes: [(inout DownloadRequest) -> Void] = [
      { $0.destination = .file("f") }, { $0.decodesContent = true }, { $0.startOver = true },
      { $0.usesSuggestedName = true }, { $0.allowUnverified = true }, { $0.rateLimit = 1 },
    ]
    for change in changes {
      let upload = UploadRequest(
        from: try Self.source(change), to: try ResourceURL("https://store.example/k"))
      #expect(throws: TransferError.self) { try TransferRequest(.upload(upload)).checkPaths() }
    }
    var post = UploadRequest(from: try Self.source(), to: try ResourceURL("https://h.example/k"))
    try TransferRequest(.upload(post)).checkPaths()
    post.method = .post
    #expect(throws: TransferError.self) { try TransferRequest(.upload(post)).checkPaths() }
  }

  @Test func `A version is known by its length and its validator`() throws {
    func identity(_ version: RemoteVersion, _ address: String = "a") -> SourceIdentity {
      SourceIdentity(version, address: address)
    }
    let (one, other) = (try Self.version(Self.tag), try Self.version(("ETag", "\"v2\"")))
    #expect(identity(one) != identity(other))
    #expect(identity(one) != identity(one, "b"))
    #expect(identity(one).isSameVersion(as: identity(one, "b")))
    #expect(!identity(one).isSameVersion(as: identity(other)))
    #expect(!identity(one).isSameVersion(as: S3MachineTests.source(100)))
  }

  @Test func `Canonically equal tags with different bytes are two versions`() throws {
    let identities = try ["\"\u{E9}\"", "\"e\u{301}\""].map { tag in
      SourceIdentity(try Self.version(("ETag", tag)), address: "a")
    }
    #expect(identities[0] != identities[1])
    #expect(!identities[0].isSameVersion(as: identities[1]))
  }
}

import HaulCore
import Testing

/// The CRC32C of parts and of whole objects. The file has 33 MiB of zero bytes, in three parts.
@Suite struct S3ChecksumTests {
  private typealias Script = S3MachineTests
  private static let size: Int64 = 33 << 20
  private static let field = "x-amz-checksum-crc32c"
  /// Of 16 MiB, 1 MiB and 33 MiB of zero bytes, as awscrt computes them.
  private static let (part, last, whole) = ("a3ab8542", "14298c12", "5f950dc2")
  private static let (partBase64, lastBase64, wholeBase64) = (
    "o6uFQg==", "FCmMEg==", "X5UNwg=="
  )
  private static let agreed = [
    ("x-amz-checksum-algorithm", "CRC32C"), ("x-amz-checksum-type", "FULL_OBJECT"),
  ]

  private static func crc(_ hex: String) -> Checksum? { Checksum("crc32c=\(hex)") }

  private static func digest(_ number: Int) -> UploadEvent {
    let checksums = [
      Checksum("md5=\(Script.hex(number))"), crc(number == 3 ? last : part),
    ]
    return .digested(part: number, .success(checksums.compactMap(\.self)))
  }

  /// A machine whose upload is created, with these fields in the answer.
  private static func sending(_ fields: [(String, String)] = agreed) throws -> S3Machine {
    var machine = try Script.machine(size)
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(200, fields, body: Script.created))
    _ = machine.handle(.stored(nil))
    return machine
  }

  /// The same, whose parts have all arrived; with the request that completes it.
  private static func completing(
    _ fields: [(String, String)] = agreed
  ) throws -> (S3Machine, UploadMessage) {
    var machine = try sending(fields)
    for number in 1...3 {
      _ = machine.handle(digest(number))
      _ = machine.handle(try answer(200, [("ETag", "t")], sent: 16 << 20, part: number))
    }
    let complete = try message(machine.handle(.sourceChecked(nil)))
    return (machine, complete)
  }

  private static func made(_ checksum: String, type: String = "FULL_OBJECT") throws -> UploadEvent {
    try answer(
      200,
      body: "<CompleteMultipartUploadResult><ChecksumCRC32C>\(checksum)</ChecksumCRC32C>"
        + "<ChecksumType>\(type)</ChecksumType></CompleteMultipartUploadResult>")
  }

  @Test(arguments: 0...9)
  func `Two CRC32C values make that of all bytes`(length: Int) throws {
    // Of the first and the last digits of 123456789; of all of them it is e3069283 (RFC 3720).
    let first = [
      "00000000", "90f599e3", "7355c460", "107b2fb2", "f63af4ee", "18d12335",
      "41357186", "124297ea", "6087809a", "e3069283",
    ][length]
    let last = [
      "e3069283", "bfe92a83", "93f16407", "66e07ea3", "83b565d8", "c27e5db2",
      "107902cb", "646a3494", "1a2cc12c", "00000000",
    ][length]
    let joined = try #require(Self.crc(first)).joined(
      with: try #require(Self.crc(last)), length: Int64(9 - length))
    #expect(joined == Self.crc("e3069283"))
  }

  @Test func `Only CRC32C values can be joined`() throws {
    let md5 = try #require(Checksum("md5=\(Script.hex(1))"))
    let crc = try #require(Self.crc("e3069283"))
    #expect(crc.joined(with: md5, length: 1) == nil)
    #expect(md5.joined(with: crc, length: 1) == nil)
  }

  @Test func `The whole object has the checksum of all parts, and the store confirms it`() throws {
    var machine = try Script.machine(Self.size)
    let create = try message(machine.handle(.start(nil)))
    for (name, value) in Self.agreed { #expect(create.fields[name] == value) }
    let stored = machine.handle(try answer(200, Self.agreed, body: Script.created))
    guard case .storeRecord(let record)? = stored.first else {
      Issue.record("no record")
      return
    }
    #expect(record.s3?.checksums == .ofWhole)
    let (other, complete) = try Self.completing()
    machine = other
    #expect(complete.fields[Self.field] == Self.wholeBase64)
    #expect(complete.fields["x-amz-checksum-type"] == "FULL_OBJECT")
    let body = String(decoding: complete.body ?? [], as: UTF8.self)
    #expect(body.contains("<ChecksumCRC32C>\(Self.lastBase64)</ChecksumCRC32C>"))
    let checksum = try #require(Self.crc(Self.whole))
    #expect(
      machine.handle(try Self.made(Self.wholeBase64)) == [
        .deleteRecord, .reportVerified(checksum), .finish(.completed),
      ])
  }

  @Test func `Each part has its checksum`() throws {
    var machine = try Self.sending()
    let part = try message(machine.handle(Self.digest(1)))
    #expect(part.fields[Self.field] == Self.partBase64)
    #expect(part.fields["Content-MD5"] != nil)
  }

  @Test func `An object with another checksum is an error`() throws {
    var (machine, _) = try Self.completing()
    let commands = machine.handle(try Self.made(Self.partBase64))
    #expect(commands.first == .deleteRecord)
    #expect(failure(of: commands)?.code == .checksumMismatch)
  }

  @Test func `A checksum of another type says nothing`() throws {
    var (machine, _) = try Self.completing()
    let commands = machine.handle(try Self.made(Self.partBase64, type: "COMPOSITE"))
    #expect(try message(commands).method == "HEAD")
  }

  @Test func `A store that computes another checksum makes no object, and loses the parts`() throws
  {
    var (machine, _) = try Self.completing()
    let wrong = try answer(400, body: Script.refusal("BadDigest"))
    #expect(try message(machine.handle(wrong)).method == "DELETE")
    #expect(failure(of: machine.handle(try answer(204)))?.code == .checksumMismatch)
  }

  @Test func `A part that arrived with another checksum is sent again`() throws {
    var machine = try Self.sending()
    _ = machine.handle(Self.digest(1))
    let commands = machine.handle(
      try answer(200, [("ETag", "t"), (Self.field, "AAAAAA==")], sent: 16 << 20, part: 1))
    guard case .retry(after: _, attempt: _, let error)? = commands.last else {
      Issue.record("no retry")
      return
    }
    #expect(error.code == .checksumMismatch)
  }

  @Test func `A small object is verified by its checksum; another one is an error`() throws {
    for (found, isRight) in [(Self.lastBase64, true), (Self.wholeBase64, false)] {
      var machine = try Script.machine(1 << 20)
      _ = machine.handle(.start(nil))
      let put = try message(
        machine.handle(
          .digested(
            part: 1,
            .success(
              [Checksum("md5=\(Script.hex(1))"), Self.crc(Self.last)].compactMap(\.self)))))
      #expect(put.fields[Self.field] == Self.lastBase64)
      let commands = machine.handle(
        try answer(200, [("ETag", "t"), (Self.field, found)], sent: 1 << 20, part: 1))
      if isRight {
        #expect(commands.contains(.reportVerified(try #require(Self.crc(Self.last)))))
        #expect(machine.handle(.sourceChecked(nil)) == [.finish(.completed)])
      } else {
        #expect(failure(of: commands)?.code == .checksumMismatch)
      }
    }
  }

  @Test func `A store that ignores the fields gets no more of them`() throws {
    var machine = try Self.sending([])
    let part = try message(machine.handle(Self.digest(1)))
    #expect(part.fields[Self.field] == nil)
    let (_, complete) = try Self.completing([])
    #expect(complete.fields[Self.field] == nil)
    #expect(!String(decoding: complete.body ?? [], as: UTF8.self).contains("Checksum"))
  }

  @Test func `A store that knows only checksums of parts gets those`() throws {
    let (_, complete) = try Self.completing([Self.agreed[0]])
    #expect(complete.fields[Self.field] == nil)
    #expect(
      String(decoding: complete.body ?? [], as: UTF8.self)
        .contains("<ChecksumCRC32C>\(Self.partBase64)</ChecksumCRC32C>"))
  }

  @Test(arguments: [("InvalidArgument", 400), ("NotImplemented", 501)])
  func `A store that refuses the fields is asked again without them`(code: String, status: Int)
    throws
  {
    let refused = try answer(status, body: Script.refusal(code), part: 1)
    var machine = try Script.machine(Self.size)
    _ = machine.handle(.start(nil))
    let create = try message(machine.handle(refused))
    #expect(create.url.absoluteString.hasSuffix("?uploads"))
    #expect(create.fields["x-amz-checksum-algorithm"] == nil)
    machine = try Script.machine(1)
    _ = machine.handle(.start(nil))
    _ = machine.handle(Self.digest(1))
    #expect(machine.handle(refused).last == .digest(0..<1, part: 1, [.md5]))
    #expect(try message(machine.handle(Script.digest(1))).fields[Self.field] == nil)
    var (other, _) = try Self.completing()
    let complete = try message(other.handle(refused))
    #expect(complete.fields[Self.field] == nil)
    let bare = try message(other.handle(refused))
    #expect(!String(decoding: bare.body ?? [], as: UTF8.self).contains("Checksum"))
    #expect(failure(of: other.handle(refused)) != nil)
  }

  private static func refusal(_ code: String, _ words: String) -> String {
    "<Error><Code>\(code)</Code><Message>\(words)</Message></Error>"
  }

  @Test(arguments: [
    (400, refusal("UnsupportedHeader", "")), (400, refusal("InvalidHeader", "x-amz-checksum-type")),
    (400, refusal("Odd", "Unsupported header 'x-amz-checksum-crc32c' received")),
    (403, refusal("AccessDenied", "There were headers in the request which were not signed")),
    (422, refusal("Odd", "This checksum algorithm is not supported")),
    (400, refusal("InvalidRequest", "Checksum Type mismatch occurred, expected: null")),
    (400, refusal("BadRequest", "Bad Request")), (501, refusal("Odd", "")), (501, ""), (400, ""),
    (400, "<html>Bad Request</html>"),
  ])
  func `A refusal that may be about the fields is reported, and followed by one without them`(
    status: Int, body: String
  ) throws {
    var machine = try Script.machine(Self.size)
    _ = machine.handle(.start(nil))
    let commands = machine.handle(try answer(status, body: body))
    guard case .reportRefusal(let error)? = commands.first else {
      Issue.record("no report")
      return
    }
    #expect(error.message.contains("perhaps because of CRC32C checksums"))
    #expect(try message(commands).fields["x-amz-checksum-algorithm"] == nil)
    // It is no attempt, and the next refusal is final.
    #expect(failure(of: machine.handle(try answer(status, body: body))) != nil)
  }

  @Test(arguments: [
    (400, refusal("BadDigest", "The CRC32C did not match the calculated checksum")),
    (400, refusal("XAmzContentSHA256Mismatch", "The header does not match what was computed")),
    (400, refusal("ChecksumMismatch", "")),
    (400, refusal("InvalidRequest", "the checksum does not match the bytes that were received")),
    (400, refusal("InvalidArgument", "Value for x-amz-checksum-crc32c: digest mismatch")),
  ])
  func `Checksums are not left out when the store has other bytes`(
    status: Int, body: String
  ) throws {
    var machine = try Script.machine(1)
    _ = machine.handle(.start(nil))
    _ = machine.handle(Self.digest(1))
    let wrong = try answer(status, body: body, sent: 1, part: 1)
    #expect(retried(machine.handle(wrong)) != nil)
    #expect(machine.handle(.start(nil)) == [.digest(0..<1, part: 1, [.md5, .crc32c])])
  }

  @Test(arguments: [
    (403, refusal("AccessDenied", "Access Denied")), (403, ""), (404, ""),
    (400, refusal("AuthorizationHeaderMalformed", "The authorization header is malformed")),
    (400, refusal("QuotaExceeded", "no room")),
    (400, refusal("InvalidDigest", "The Content-MD5 header is not valid")),
  ])
  func `A refusal for another reason is final at once`(status: Int, body: String) throws {
    var machine = try Script.machine(Self.size)
    _ = machine.handle(.start(nil))
    #expect(failure(of: machine.handle(try answer(status, body: body))) != nil)
  }

  @Test func `The caller's own checksum is the only one`() throws {
    var machine = try Script.machine(1) { $0.headers = [("X-Amz-Checksum-SHA256", "x")] }
    #expect(machine.handle(.start(nil)) == [.digest(0..<1, part: 1, [.md5])])
  }

  @Test func `An upload that continues computes the checksums of the parts that are there`() throws
  {
    var record = Script.record(Script.source(Self.size))
    record.s3?.checksums = .ofWhole
    var machine = try Script.machine(Self.size)
    _ = machine.handle(.start(record))
    let listed = Script.list([
      (1, 16 << 20, Script.hex(1)), (2, 16 << 20, Script.hex(2)), (3, 1 << 20, Script.hex(3)),
    ])
    #expect(
      machine.handle(try answer(200, body: listed)) == [
        .digest(0..<(16 << 20), part: 1, [.md5, .crc32c])
      ])
    _ = machine.handle(Self.digest(1))
    _ = machine.handle(Self.digest(2))
    #expect(machine.handle(Self.digest(3)).last == .checkSource)
    let complete = try message(machine.handle(.sourceChecked(nil)))
    #expect(complete.fields[Self.field] == Self.wholeBase64)
  }
}

import HaulCore
import Testing

/// What the machine of S3 does, event by event. A part of the file has the MD5 of its number.
@Suite struct S3MachineTests {
  static let mebibyte: Int64 = 1 << 20
  static let address = "https://h.example/b/k"

  static func source(_ size: Int64, modified: Double = 3) -> SourceIdentity {
    SourceIdentity(
      FileStatus(
        kind: .regular, device: 1, inode: 2, size: size, owner: 0, mode: 0o644, links: 1,
        modified: modified))
  }

  static func machine(
    _ size: Int64, _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> S3Machine {
    let object = try S3Object(
      bucket: "b", key: "k", endpoint: try ResourceURL("https://h.example"))
    var request = UploadRequest(
      "/d/f", to: object, credentials: S3Credentials(accessKeyID: "i", secretAccessKey: "s"))
    change(&request)
    return S3Machine(UploadStart(request, source(size), isAttended: false, now: Instant()))
  }

  static func record(_ source: SourceIdentity, partSize: Int64 = 16 << 20) -> UploadRecord {
    UploadRecord(
      address: address + "?uploadId=u1", source: source,
      s3: UploadRecord.S3(partSize: partSize, mark: "m"))
  }

  static func hex(_ part: Int) -> String {
    String(repeating: "0", count: 30) + (part < 10 ? "0\(part)" : "\(part)")
  }

  static func digest(_ part: Int) -> UploadEvent {
    .digested(
      part: part, .success([Checksum("md5=\(hex(part))")].compactMap(\.self)))
  }

  static let created =
    "<?xml version=\"1.0\"?>\n<InitiateMultipartUploadResult xmlns=\"x\"><UploadId>u1</UploadId>"
    + "</InitiateMultipartUploadResult>"
  static let completed = completed(tag: "e-2")
  static func completed(tag: String) -> String {
    "\n\n  <CompleteMultipartUploadResult><ETag>&quot;\(tag)&quot;</ETag>"
      + "</CompleteMultipartUploadResult>"
  }

  static func refusal(_ code: String) -> String { "<Error><Code>\(code)</Code></Error>" }

  static func list(_ parts: [(Int, Int64, String)], next: Int? = nil) -> String {
    let listed = parts.map {
      "<Part><PartNumber>\($0.0)</PartNumber><Size>\($0.1)</Size><ETag>&quot;\($0.2)&quot;</ETag>"
        + "</Part>"
    }
    return "<ListPartsResult><IsTruncated>\(next != nil)</IsTruncated>"
      + (next.map { "<NextPartNumberMarker>\($0)</NextPartNumberMarker>" } ?? "")
      + listed.joined() + "</ListPartsResult>"
  }

  /// A machine of three parts whose upload is created.
  static func sending(
    connections: Int = 1, _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> S3Machine {
    var machine = try machine(33 << 20, change)
    _ = machine.handle(.start(nil, connections: connections))
    _ = machine.handle(try answer(200, body: created))
    _ = machine.handle(.stored(nil))
    return machine
  }

  /// The store takes a part.
  static func take(_ part: Int, _ machine: inout S3Machine) throws -> [UploadCommand] {
    _ = machine.handle(digest(part))
    return machine.handle(
      try answer(200, [("ETag", "\"\(hex(part))\"")], sent: 16 << 20, part: part))
  }

  /// A machine whose parts have all arrived, and that asks for the object.
  static func completing(
    _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> S3Machine {
    var machine = try sending(change)
    for part in 1...3 { _ = try take(part, &machine) }
    _ = machine.handle(.sourceChecked(nil))
    return machine
  }

  @Test(arguments: [0, 1, 5 * mebibyte - 1, 5 * mebibyte, 5 * mebibyte + 1, 16 * mebibyte])
  func `A small file is one object, with its MD5`(size: Int64) throws {
    var machine = try Self.machine(size) { $0.headers = [("Content-Type", "text/plain")] }
    #expect(machine.handle(.start(nil)) == [.digest(0..<size, part: 1, [.md5, .crc32c])])
    let put = try message(machine.handle(Self.digest(1)))
    #expect((put.method, put.url.absoluteString, put.range) == ("PUT", Self.address, 0..<size))
    #expect(put.fields["Content-MD5"] == "AAAAAAAAAAAAAAAAAAAAAQ==")
    #expect(put.fields["Content-Type"] == "text/plain")
    #expect(put.signing?.payload == nil)
    #expect(
      machine.handle(try answer(200, [("ETag", Self.hex(1))], sent: size, part: 1)) == [
        .reportAcknowledged(size), .checkSource,
      ])
    #expect(machine.handle(.sourceChecked(nil)) == [.finish(.completed)])
  }

  @Test(arguments: [
    ("k/a.TAR.GZ", "application/gzip"), ("k.d/a.json", "application/json"), ("a", nil),
  ])
  func `An object gets the type of its name`(key: String, type: String?) throws {
    let object = try S3Object(
      bucket: "b", key: key, endpoint: try ResourceURL("https://h.example"))
    var small = S3Machine(
      UploadStart(
        UploadRequest("/f", to: object, credentials: nil), Self.source(1), isAttended: false,
        now: Instant()))
    _ = small.handle(.start(nil))
    #expect(try message(small.handle(Self.digest(1))).fields["Content-Type"] == type)
    var large = S3Machine(
      UploadStart(
        UploadRequest("/f", to: object, credentials: nil), Self.source(33 << 20),
        isAttended: false, now: Instant()))
    #expect(try message(large.handle(.start(nil))).fields["Content-Type"] == type)
  }

  @Test func `Metadata that is not ASCII is named when the signature is wrong`() throws {
    var machine = try Self.machine(33 << 20) { $0.headers = [("X-Amz-Meta-Name", "groß")] }
    _ = machine.handle(.start(nil))
    let refused = try answer(403, body: Self.refusal("SignatureDoesNotMatch"))
    // It may also be because of the checksums, which are left out first.
    #expect(try message(machine.handle(refused)).method == "POST")
    let text = failure(of: machine.handle(refused))?.message
    #expect(text?.contains("encode X-Amz-Meta-Name, which is not ASCII") == true)
  }

  @Test(arguments: ["SecondLevelDomainForbidden", "PathStyleDomainForbidden"])
  func `A store that wants the bucket in the host's name says what to do`(code: String) throws {
    var machine = try Self.machine(33 << 20)
    _ = machine.handle(.start(nil))
    let error = failure(of: machine.handle(try answer(403, body: Self.refusal(code))))
    #expect(error?.message.contains("use virtual addressing") == true)
  }

  @Test func `Without TLS the bytes themselves are signed`() throws {
    let object = try S3Object(
      bucket: "b", key: "k", endpoint: try ResourceURL("http://h.example"))
    var machine = S3Machine(
      UploadStart(
        UploadRequest("/f", to: object, credentials: nil), Self.source(1),
        isAttended: false, now: Instant()))
    #expect(machine.handle(.start(nil)) == [.digest(0..<1, part: 1, [.md5, .crc32c, .sha256])])
    let sha = try #require(Checksum("sha-256=" + String(repeating: "ab", count: 32)))
    let md5 = try #require(Checksum("md5=" + Self.hex(1)))
    let put = try message(machine.handle(.digested(part: 1, .success([md5, sha]))))
    #expect(put.signing?.payload == sha.hex)
  }

  @Test func `A large file is created, stored, sent in parts, checked and completed`() throws {
    var machine = try Self.machine(33 << 20) { $0.headers = [("X-Amz-Acl", "private")] }
    let create = try message(machine.handle(.start(nil)))
    #expect((create.method, create.url.absoluteString) == ("POST", Self.address + "?uploads"))
    #expect(create.fields["X-Amz-Acl"] == "private")
    let mark = try #require(create.fields["x-amz-meta-haul-upload"])
    #expect(mark.count == 32)
    let record = UploadRecord(
      address: Self.address + "?uploadId=u1", source: Self.source(33 << 20),
      s3: UploadRecord.S3(partSize: 16 << 20, mark: mark))
    #expect(machine.handle(try answer(200, body: Self.created)) == [.storeRecord(record)])
    #expect(machine.handle(.stored(nil)) == [.digest(0..<(16 << 20), part: 1, [.md5])])
    let part = try message(machine.handle(Self.digest(1)))
    #expect(part.url.absoluteString == Self.address + "?partNumber=1&uploadId=u1")
    #expect((part.method, part.range, part.part) == ("PUT", 0..<(16 << 20), 1))
    #expect(part.fields["X-Amz-Acl"] == nil)
    let next = machine.handle(
      try answer(200, [("ETag", "\"\(Self.hex(1))\"")], sent: 16 << 20, part: 1))
    #expect(
      next == [
        .reportAcknowledged(16 << 20), .digest((16 << 20)..<(32 << 20), part: 2, [.md5]),
      ])
    _ = machine.handle(Self.digest(2))
    _ = machine.handle(try answer(200, [("ETag", Self.hex(2))], sent: 16 << 20, part: 2))
    let last = try message(machine.handle(Self.digest(3)))
    #expect(last.range == (32 << 20)..<(33 << 20))
    #expect(
      machine.handle(try answer(200, [("ETag", "\"\(Self.hex(3))\"")], sent: 1 << 20, part: 3)) == [
        .reportAcknowledged(33 << 20), .checkSource,
      ])
    let complete = try message(machine.handle(.sourceChecked(nil)))
    #expect(complete.method == "POST")
    #expect(complete.url.absoluteString == Self.address + "?uploadId=u1")
    let body = String(decoding: complete.body ?? [], as: UTF8.self)
    #expect(body.contains("<PartNumber>3</PartNumber><ETag>&quot;\(Self.hex(3))&quot;</ETag>"))
    let head = try message(machine.handle(try answer(200, body: Self.completed)))
    #expect((head.method, head.url.absoluteString) == ("HEAD", Self.address))
    var lost = machine
    #expect(machine.handle(try answer(403)) == [.deleteRecord, .finish(.completed)])
    // A key that may not look gets no 404.
    #expect(failure(of: lost.handle(try answer(404)))?.code == .protocolViolation)
  }

  @Test func `As many parts as there are connections are read and sent at once`() throws {
    var machine = try Self.machine(65 << 20)
    _ = machine.handle(.start(nil, connections: 3))
    _ = machine.handle(try answer(200, body: Self.created))
    let parts = machine.handle(.stored(nil)).map { command in
      if case .digest(_, let part, _) = command { part } else { 0 }
    }
    #expect(parts == [1, 2, 3])
    for part in [2, 1, 3] { _ = machine.handle(Self.digest(part)) }
    // The second one arrives first: the fourth begins.
    let commands = machine.handle(
      try answer(200, [("ETag", "t")], sent: 16 << 20, part: 2))
    #expect(commands.first == .reportAcknowledged(16 << 20))
    #expect(commands.last == .digest((48 << 20)..<(64 << 20), part: 4, [.md5]))
  }

  /// Length of the file, size of its parts, and their number.
  static let layouts: [[Int64]] = [
    [160_000 * mebibyte, 16 * mebibyte, 10_000], [160_000 * mebibyte + 1, 17 * mebibyte, 9412],
    [1 << 40, 105 * mebibyte, 9987], [51_200_000 * mebibyte, 5120 * mebibyte, 10_000],
  ]

  @Test(arguments: layouts)
  func `Parts are large enough that there are at most 10,000`(numbers: [Int64]) throws {
    let (size, partSize, count) = (numbers[0], numbers[1], numbers[2])
    var machine = try Self.machine(size)
    _ = machine.handle(.start(nil))
    guard case .storeRecord(let record)? = machine.handle(try answer(200, body: Self.created)).first
    else {
      Issue.record("no record")
      return
    }
    #expect(record.s3?.partSize == partSize)
    #expect((size + partSize - 1) / partSize == count)
  }

  @Test func `A file that no store takes is not sent`() throws {
    var machine = try Self.machine(51_200_000 * Self.mebibyte + 1)
    #expect(failure(of: machine.handle(.start(nil)))?.code == .tooLarge)
  }

  @Test func `Nothing is sent before the upload's id is stored; without that it is deleted`() throws
  {
    var machine = try Self.machine(33 << 20)
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(200, body: Self.created))
    let full = TransferError(.diskFull, "full")
    #expect(try message(machine.handle(.stored(full))).method == "DELETE")
    #expect(machine.handle(try answer(204)) == [.deleteRecord, .finish(.failed(full))])
  }
}

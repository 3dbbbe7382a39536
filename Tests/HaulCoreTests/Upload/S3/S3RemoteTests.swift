import FoundationEssentials
import HaulCore
import Testing

/// What the machine of S3 does with a remote source, whose parts are held in memory.
@Suite struct S3RemoteTests {
  private static let part: Int64 = 8 << 20

  private static func source(_ length: Int64, tag: String = "\"v1\"") -> SourceIdentity {
    let validator = Validator(entityTag: tag, lastModified: nil, lastModifiedIsStrong: false)
    return SourceIdentity(RemoteVersion(length: length, validator: validator), address: "a")
  }

  private static func machine(_ length: Int64) throws -> S3Machine {
    let object = try S3Object(
      bucket: "b", key: "k", endpoint: try ResourceURL("https://h.example"))
    let download = DownloadRequest(url: try ResourceURL("https://s.example/f"), to: .stream)
    let request = UploadRequest(
      from: download, to: object,
      credentials: S3Credentials(accessKeyID: "i", secretAccessKey: "s"))
    return S3Machine(UploadStart(request, source(length), isAttended: false, now: Instant()))
  }

  private static func record(
    _ length: Int64, tag: String = "\"v1\"", checksums: S3Checksums? = nil
  ) -> UploadRecord {
    UploadRecord(
      address: S3MachineTests.address + "?uploadId=u1", source: source(length, tag: tag),
      s3: UploadRecord.S3(partSize: part, mark: "m", checksums: checksums))
  }

  private static func digests(_ commands: [UploadCommand]) -> [ByteRange] {
    commands.compactMap { if case .digest(let range, _, _) = $0 { range } else { nil } }
  }

  @Test func `Its parts have 8 MiB; four are held at most, and never more than 32 MiB`() throws {
    let sizes: [(Int64, Int)] = [
      (Self.part, 1), (Self.part + 1, 4), (80 << 30, 3), (200 << 30, 1), (312 << 30, 1),
    ]
    let parts = try #require(UploadRequest.Method.s3.uploadProtocol.parts)
    for (length, connections) in sizes {
      #expect(parts(Self.source(length)) == connections, "\(length)")
    }
    var machine = try Self.machine(Self.part + 1)
    _ = machine.handle(.start(nil, connections: 4))
    _ = machine.handle(try answer(404))
    _ = machine.handle(try answer(200, body: S3MachineTests.created))
    #expect(
      Self.digests(machine.handle(.stored(nil))) == [
        0..<Self.part, Self.part..<(Self.part + 1),
      ])
  }

  @Test(arguments: [313 << 30, (10_000 * 5) << 30, Int64.max - 1, .max])
  func `One that needs larger parts is refused`(length: Int64) throws {
    var machine = try Self.machine(length)
    #expect(failure(of: machine.handle(.start(nil, connections: 1)))?.code == .tooLarge)
  }

  @Test func `Listed parts are taken as they are, and only the others are read`() throws {
    let length = 3 * Self.part
    var machine = try Self.machine(length)
    _ = machine.handle(.start(Self.record(length), connections: 4))
    let commands = machine.handle(
      try answer(
        200, body: S3MachineTests.list([(1, Self.part, "x"), (3, Self.part, "y")])))
    #expect(commands.first == .reportAcknowledged(2 * Self.part))
    #expect(Self.digests(commands) == [Self.part..<(2 * Self.part)])
  }

  @Test func `A part whose checksum is needed and not listed is read again`() throws {
    let length = 2 * Self.part
    var machine = try Self.machine(length)
    _ = machine.handle(
      .start(Self.record(length, checksums: .ofParts), connections: 4))
    let checksum = "<ChecksumCRC32C>\(Data([1, 2, 3, 4]).base64EncodedString())</ChecksumCRC32C>"
    let list = S3MachineTests.list([(1, Self.part, "x"), (2, Self.part, "y")])
      .replacing("</ETag></Part>", with: "</ETag>\(checksum)</Part>", maxReplacements: 1)
    let commands = machine.handle(try answer(200, body: list))
    #expect(Self.digests(commands) == [Self.part..<(2 * Self.part)])
  }

  @Test(arguments: [false, true])
  func `The checksum of the whole is sent if that of each part is listed`(
    isListed: Bool
  ) throws {
    let length = 2 * Self.part
    var machine = try Self.machine(length)
    _ = machine.handle(.start(Self.record(length, checksums: .ofWhole), connections: 4))
    let checksum = "<ChecksumCRC32C>\(Data([1, 2, 3, 4]).base64EncodedString())</ChecksumCRC32C>"
    let list = S3MachineTests.list([(1, Self.part, "x"), (2, Self.part, "y")])
    let page = isListed ? list.replacing("</Part>", with: "\(checksum)</Part>") : list
    #expect(machine.handle(try answer(200, body: page)).last == .checkSource)
    guard case .send(let message)? = machine.handle(.sourceChecked(nil)).first else {
      throw TransferError(.internal, "no completion")
    }
    #expect((message.fields["x-amz-checksum-crc32c"] != nil) == isListed)
    let body = String(decoding: message.body ?? [], as: UTF8.self)
    #expect(body.contains("ChecksumCRC32C") == isListed)
  }

  @Test func `The store checks the MD5 of each part, because a listed one is not read again`()
    throws
  {
    var machine = try Self.machine(3 * Self.part)
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(404))
    _ = machine.handle(try answer(200, body: S3MachineTests.created))
    _ = machine.handle(.stored(nil))
    for part in 1...3 {
      let sent = try message(machine.handle(S3MachineTests.digest(part)))
      #expect(sent.fields["Content-MD5"] != nil)
      let tag = [("ETag", S3MachineTests.hex(part))]
      _ = machine.handle(try answer(200, tag, sent: Self.part, part: part))
    }
  }

  @Test func `An upload of another version is deleted first`() throws {
    let length = 3 * Self.part
    var machine = try Self.machine(length)
    let commands = machine.handle(
      .start(Self.record(length, tag: "\"v0\""), connections: 4))
    guard case .send(let message)? = commands.first else { throw TransferError(.internal, "") }
    #expect(message.method == "DELETE")
  }

  @Test(arguments: [TransferError.Code.sourceChanged, .checksumMismatch])
  func `A wrong source deletes what the store has`(code: TransferError.Code) throws {
    let length = 3 * Self.part
    var machine = try Self.machine(length)
    _ = machine.handle(.start(Self.record(length), connections: 1))
    _ = machine.handle(try answer(200, body: S3MachineTests.list([])))
    let commands = machine.handle(
      .digested(part: 1, .failure(TransferError(code, "no"))))
    guard case .send(let message)? = commands.first else { throw TransferError(.internal, "") }
    #expect(message.method == "DELETE")
    #expect(failure(of: machine.handle(try answer(204)))?.code == code)
  }

  @Test func `A source that fails for a moment is read again`() throws {
    let length = 3 * Self.part
    var machine = try Self.machine(length)
    _ = machine.handle(.start(Self.record(length), connections: 1))
    _ = machine.handle(try answer(200, body: S3MachineTests.list([])))
    let lost = TransferError(.connectionLost, "lost", isRetryable: true)
    guard case .retry? = machine.handle(.digested(part: 1, .failure(lost))).first else {
      throw TransferError(.internal, "no retry")
    }
    #expect(Self.digests(machine.handle(.start(nil, connections: 1))) == [0..<Self.part])
  }
}

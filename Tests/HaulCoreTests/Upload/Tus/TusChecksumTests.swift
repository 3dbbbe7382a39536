import HaulCore
import Testing

/// The checksums that a tus server compares with the bytes of each request.
@Suite struct TusChecksumTests {
  private static let step: Int64 = 16 << 20
  private static let length = 2 * step + 5
  private let source = SourceIdentity(
    FileStatus(
      kind: .regular, device: 1, inode: 2, size: length, owner: 0, mode: 0o644, links: 1,
      modified: 3))

  private static func offered(_ algorithms: String) -> [(String, String)] {
    [
      ("Tus-Version", "1.0.0"), ("Tus-Extension", "creation,checksum"),
      ("Tus-Checksum-Algorithm", algorithms),
    ]
  }

  private static func checksum(_ algorithm: Checksum.Algorithm) throws -> Checksum {
    try #require(Checksum(algorithm, bytes: [UInt8](repeating: 0, count: algorithm.byteCount)))
  }

  private func machine() throws -> TusMachine {
    var request = UploadRequest("/d/f", to: try ResourceURL("http://h.example/files/"))
    request.method = .tus
    request.retry.retries = 2
    return TusMachine(UploadStart(request, source, isAttended: false, now: Instant()))
  }

  /// A machine whose upload is created, and what it does then.
  private func created(_ algorithms: String = "sha256") throws -> (TusMachine, [UploadCommand]) {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(204, Self.offered(algorithms)))
    _ = machine.handle(try answer(201, [("Location", "u1")]))
    let commands = machine.handle(.stored(nil))
    return (machine, commands)
  }

  @Test(arguments: [
    ("md5,sha1,sha256", "sha256", Checksum.Algorithm.sha256), ("md5,sha1", "sha1", .sha1),
    ("crc32, MD5", "MD5", .md5),
  ])
  func `Each request has the checksum of its bytes, by the best algorithm of both`(
    offered: String, name: String, algorithm: Checksum.Algorithm
  ) throws {
    var (machine, commands) = try created(offered)
    #expect(commands == [.digest(0..<Self.step, part: 0, [algorithm])])
    let checksum = try Self.checksum(algorithm)
    let first = try message(machine.handle(.digested(part: 0, .success([checksum]))))
    #expect(first.range == 0..<Self.step)
    let zeros = first.fields["Upload-Checksum"]?.split(separator: " ")
    #expect(zeros?.first == name[...])
    #expect(zeros?.last?.hasPrefix("AAAA") == true)
    commands = machine.handle(
      try answer(204, [("Upload-Offset", "\(Self.step)")], sent: Self.step))
    #expect(
      commands == [
        .reportAcknowledged(Self.step),
        .digest(Self.step..<(2 * Self.step), part: 0, [algorithm]),
      ])
  }

  @Test(arguments: ["crc32", ""])
  func `Without an algorithm that is known here the file goes without one, in one request`(
    offered: String
  ) throws {
    let (_, commands) = try created(offered)
    let append = try message(commands)
    #expect(append.range == 0..<Self.length)
    #expect(append.fields["Upload-Checksum"] == nil)
  }

  @Test func `A server that does not list the extension gets no checksum`() throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    let fields = [
      ("Tus-Version", "1.0.0"), ("Tus-Extension", "creation"), ("Tus-Checksum-Algorithm", "sha1"),
    ]
    _ = machine.handle(try answer(204, fields))
    _ = machine.handle(try answer(201, [("Location", "u1")]))
    #expect(try message(machine.handle(.stored(nil))).range == 0..<Self.length)
  }

  @Test func `Bytes that always arrive damaged fail with that reason`() throws {
    var (machine, _) = try created()
    var ends: [TransferError] = []
    for _ in 0..<3 {
      _ = try message(
        machine.handle(.digested(part: 0, .success([try Self.checksum(.sha256)]))))
      let commands = machine.handle(try answer(460, sent: Self.step))
      if let error = failure(of: commands) {
        ends.append(error)
        break
      }
      #expect(try message(machine.handle(.start(nil))).method == "HEAD")
      // The server has dropped the bytes.
      let again = machine.handle(try answer(200, [("Upload-Offset", "0")]))
      #expect(again.last == .digest(0..<Self.step, part: 0, [.sha256]))
    }
    #expect(ends.map(\.code) == [.checksumMismatch])
    #expect(ends.first?.message.contains("have another checksum") == true)
  }

  @Test func `A source that cannot be read for its checksum is an error`() throws {
    var (machine, _) = try created()
    let unreadable = TransferError(.sourceUnreadable, "it is gone")
    let error = failure(of: machine.handle(.digested(part: 0, .failure(unreadable))))
    #expect(error?.code == .sourceUnreadable)
  }

  @Test func `A resumed upload asks again what the server checks`() throws {
    var machine = try machine()
    let record = UploadRecord(address: "http://h.example/files/u1", source: source)
    #expect(try message(machine.handle(.start(record))).method == "OPTIONS")
    #expect(try message(machine.handle(try answer(204, Self.offered("sha1")))).method == "HEAD")
    let commands = machine.handle(try answer(200, [("Upload-Offset", "7")]))
    #expect(commands.last == .digest(7..<(Self.step + 7), part: 0, [.sha1]))
  }

  @Test func `A window of a stream has a checksum too`() throws {
    var request = UploadRequest("/d/f", to: try ResourceURL("http://h.example/files/"))
    request.method = .tus
    let first = UploadExtent(end: 8 << 20, isWhole: false)
    var machine = TusMachine(UploadStart(request, source, first, isAttended: false, now: Instant()))
    _ = machine.handle(.start(nil))
    let fields = [
      ("Tus-Version", "1.0.0"), ("Tus-Extension", "creation,creation-defer-length,checksum"),
      ("Tus-Checksum-Algorithm", "sha1"),
    ]
    _ = machine.handle(try answer(204, fields))
    _ = machine.handle(try answer(201, [("Location", "u1")]))
    #expect(machine.handle(.stored(nil)) == [.digest(0..<(8 << 20), part: 0, [.sha1])])
    let sent = try message(
      machine.handle(.digested(part: 0, .success([try Self.checksum(.sha1)]))))
    #expect(sent.fields["Upload-Checksum"]?.hasPrefix("sha1 ") == true)
    let appended = machine.handle(
      try answer(204, [("Upload-Offset", "\(8 << 20)")], sent: 8 << 20))
    #expect(appended.last == .read(UploadExtent.window))
    let last = machine.handle(.read(UploadExtent(start: 8 << 20, end: (8 << 20) + 3)))
    #expect(last == [.digest((8 << 20)..<((8 << 20) + 3), part: 0, [.sha1])])
  }
}

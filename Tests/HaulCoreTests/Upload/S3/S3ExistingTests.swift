import Crypto
import FoundationEssentials
import HaulCore
import Testing

/// `--if-exists skip` and `update` to an S3 store: what is there is asked first.
@Suite struct S3ExistingTests {
  private typealias Script = S3MachineTests
  private static let md5 = Checksum("md5=0123456789abcdef0123456789abcdef")
  private static let other = Checksum("md5=1123456789abcdef0123456789abcdef")
  private static let tag = "\"0123456789abcdef0123456789abcdef\""

  /// A machine that has asked.
  private static func asking(
    _ ifExists: UploadRequest.IfExists, _ length: Int64 = 5,
    _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> S3Machine {
    var machine = try Script.machine(length) {
      $0.ifExists = ifExists
      change(&$0)
    }
    let look = try message(machine.handle(.start(nil)))
    #expect(look.method == "HEAD" && look.url.query == nil)
    #expect((look.fields["x-amz-checksum-mode"] == "ENABLED") == (ifExists == .update))
    return machine
  }

  /// The answer about an object.
  private static func object(
    _ tag: String? = tag, length: Int64? = 5, _ more: (String, String)...
  ) throws -> UploadEvent {
    let fields = [length.map { ("Content-Length", "\($0)") }, tag.map { ("ETag", $0) }]
    return try answer(200, fields.compactMap(\.self) + more)
  }

  @Test(arguments: [[1, 2], [2, 1]])
  func `Of two checksums of one kind in one answer, none counts`(bytes: [UInt8]) throws {
    let own = try Self.crc(1, .crc64nvme)
    let fields = try bytes.map {
      ("x-amz-checksum-crc64nvme", Data(try Self.crc($0, .crc64nvme).bytes).base64EncodedString())
    }
    var machine = try Self.asking(.update)
    let type = ("x-amz-checksum-type", "FULL_OBJECT")
    var commands = machine.handle(try Self.object("\"t\"", length: 5, type, fields[0], fields[1]))
    if case .digest(_, part: _, let algorithms)? = commands.last, algorithms.contains(.crc64nvme) {
      commands = machine.handle(.digested(part: 0, .success([own])))
    }
    #expect(!commands.contains(.checkSource))
  }

  private static func crc(_ byte: UInt8, _ algorithm: Checksum.Algorithm) throws -> Checksum {
    try #require(
      Checksum(algorithm, bytes: Array(repeating: byte, count: algorithm.byteCount)))
  }

  private static func base64(_ checksum: Checksum) -> String {
    Data(checksum.bytes).base64EncodedString()
  }

  private static func conditions(_ message: UploadMessage) -> [String] {
    message.fields.fields.filter { $0.name.hasPrefix("If-") }.map { "\($0.name): \($0.value)" }
  }

  /// The file of five bytes is sent under these conditions.
  private static func expectSent(
    _ machine: S3Machine, _ commands: [UploadCommand], _ conditions: [String]
  ) throws {
    var machine = machine
    #expect(commands == [.digest(0..<5, part: 1, [.md5, .crc32c])])
    let put = try message(machine.handle(Script.digest(1)))
    #expect(put.method == "PUT" && Self.conditions(put) == conditions)
  }

  /// The object is kept, for this proof.
  private static func expectKept(
    _ machine: S3Machine, _ commands: [UploadCommand], length: Int64 = 5, _ proof: [Checksum]
  ) throws {
    var (machine, changed) = (machine, machine)
    #expect(commands == [.checkSource])
    let object = PresentFile(length: length, .checksum, checksums: proof)
    #expect(
      machine.handle(.sourceChecked(nil)) == [.reportPresent(object), .finish(.completed)])
    let error = TransferError(.sourceChanged, "it was written to")
    #expect(failure(of: changed.handle(.sourceChecked(error)))?.code == .sourceChanged)
  }

  // MARK: update

  @Test(arguments: [Checksum.Algorithm.crc64nvme, .crc32c, .sha256, .sha1])
  func `A checksum of the whole object decides`(algorithm: Checksum.Algorithm) throws {
    let (equal, other) = (try Self.crc(7, algorithm), try Self.crc(8, algorithm))
    let field = "x-amz-checksum-\(algorithm.rawValue.filter { $0 != "-" })"
    // In parts and encrypted by a key service: the tag says nothing.
    for tag in ["\"aa-3\"", "\"\(String(repeating: "a", count: 32))-3\""] {
      var machine = try Self.asking(.update)
      let found = try Self.object(
        tag, (field, Self.base64(equal)), ("x-amz-checksum-type", "FULL_OBJECT"),
        ("x-amz-server-side-encryption", "aws:kms"))
      #expect(machine.handle(found) == [.digest(0..<5, part: 0, [algorithm])])
      var changed = machine
      let kept = machine.handle(.digested(part: 0, .success([equal])))
      try Self.expectKept(machine, kept, [equal])
      // The same length.
      let sent = changed.handle(.digested(part: 0, .success([other])))
      try Self.expectSent(changed, sent, ["If-Match: \(tag)"])
    }
  }

  @Test func `A checksum of checksums is none of the object`() throws {
    let crc = try Self.crc(7, .crc32c)
    let composite = "\"\(String(repeating: "a", count: 32))-2\""
    for (tag, value, type) in [
      (composite, Self.base64(crc), "COMPOSITE"), (composite, Self.base64(crc), nil),
      ("\"x\"", Self.base64(crc) + "-2", "COMPOSITE"), ("\"x\"", Self.base64(crc), nil),
    ] as [(String, String, String?)] {
      var machine = try Self.asking(.update)
      let found = try answer(
        200,
        [("Content-Length", "5"), ("ETag", tag), ("x-amz-checksum-crc32c", value)]
          + (type.map { [("x-amz-checksum-type", $0)] } ?? []))
      for command in machine.handle(found) {
        if case .digest(_, part: 0, _) = command { Issue.record("\(tag) \(value)") }
      }
    }
  }

  @Test func `Without a checksum, the entity tag of an object in one piece is its MD5`() throws {
    let (md5, other) = (try #require(Self.md5), try #require(Self.other))
    var machine = try Self.asking(.update)
    #expect(machine.handle(try Self.object()) == [.digest(0..<5, part: 0, [.md5])])
    var changed = machine
    let kept = machine.handle(.digested(part: 0, .success([md5])))
    try Self.expectKept(machine, kept, [md5])
    let sent = changed.handle(.digested(part: 0, .success([other])))
    try Self.expectSent(changed, sent, ["If-Match: \(Self.tag)"])
  }

  @Test func `Of a checksum and an MD5, both must agree, unless a key encrypts the object`() throws
  {
    let (crc, other) = (try Self.crc(7, .crc32c), try #require(Self.other))
    for (field, isKept) in [
      (("x-amz-server-side-encryption", "AES256"), false),
      (("x-amz-server-side-encryption", "aws:kms:dsse"), true),
      (("x-amz-server-side-encryption-customer-algorithm", "AES256"), true),
    ] {
      var machine = try Self.asking(.update)
      let found = try Self.object(
        Self.tag, ("x-amz-checksum-crc32c", Self.base64(crc)),
        ("x-amz-checksum-type", "FULL_OBJECT"), field)
      #expect(machine.handle(found) == [.digest(0..<5, part: 0, [.crc32c, .md5])])
      let commands = machine.handle(.digested(part: 0, .success([crc, other])))
      if isKept {
        try Self.expectKept(machine, commands, [crc])
      } else {
        try Self.expectSent(machine, commands, ["If-Match: \(Self.tag)"])
      }
    }
  }

  /// The entity tag of an object of parts whose MD5 are those of the script.
  private static func tag(ofParts count: Int) throws -> String {
    var all: [UInt8] = []
    for part in 1...count { all += try #require(Checksum("md5=\(Script.hex(part))")).bytes }
    let md5 = try #require(Checksum(.md5, bytes: Array(Insecure.MD5.hash(data: all))))
    return "\"\(md5.hex)-\(count)\""
  }

  @Test func `An entity tag of parts is computed by the size that the store says`() throws {
    let tag = try Self.tag(ofParts: 3)
    var machine = try Self.asking(.update, 12)
    let look = try message(machine.handle(try Self.object(tag, length: 12)))
    #expect((look.method, look.url.query, look.isOptional) == ("HEAD", "partNumber=1", true))
    #expect(
      machine.handle(try answer(206, [("Content-Length", "5")])) == [
        .digest(0..<5, part: 1, [.md5])
      ])
    #expect(machine.handle(Script.digest(1)) == [.digest(5..<10, part: 2, [.md5])])
    #expect(machine.handle(Script.digest(2)) == [.digest(10..<12, part: 3, [.md5])])
    var changed = machine
    let kept = machine.handle(Script.digest(3))
    try Self.expectKept(machine, kept, length: 12, [])
    #expect(changed.handle(Script.digest(4)) == [.digest(0..<12, part: 1, [.md5, .crc32c])])
  }

  @Test func `Parts of an unknown size are those that Haul sends, or say nothing`() throws {
    let own: Int64 = 16 << 20
    for found in [try answer(403), try answer(200, [("Content-Length", "\(own + 5)")])] {
      var machine = try Self.asking(.update, own + 5)
      _ = machine.handle(try Self.object(try Self.tag(ofParts: 2), length: own + 5))
      #expect(machine.handle(found) == [.digest(0..<own, part: 1, [.md5])])
      var other = try Self.asking(.update, own + 5)
      _ = other.handle(try Self.object(try Self.tag(ofParts: 3), length: own + 5))
      #expect(try message(other.handle(found)).method == "POST")
    }
    var silent = try Self.asking(.update, own + 5)
    _ = silent.handle(try Self.object(try Self.tag(ofParts: 2), length: own + 5))
    let lost = TransferError(.connectionLost, "lost", isRetryable: true)
    #expect(silent.handle(.failed(lost, sent: 0)) == [.digest(0..<own, part: 1, [.md5])])
  }

  @Test func `What says nothing of the object sends the file`() throws {
    for (found, conditions) in [
      (try answer(404), ["If-None-Match: *"]), (try answer(403), []), (try answer(405), []),
      (try answer(400), []), (try Self.object(length: 6), ["If-Match: \(Self.tag)"]),
      (try Self.object(length: nil), ["If-Match: \(Self.tag)"]),
      (try Self.object("W/\(Self.tag)"), []), (try Self.object(nil), []),
      (try Self.object("\"x\""), ["If-Match: \"x\""]),
    ] as [(UploadEvent, [String])] {
      var machine = try Self.asking(.update)
      let commands = machine.handle(found)
      try Self.expectSent(machine, commands, conditions)
    }
    var busy = try Self.asking(.update)
    #expect(retried(busy.handle(try answer(503))) != nil)
  }

  @Test func `An object with other fields than the given ones is sent again`() throws {
    for (field, stored, isEqual) in [
      (("Content-Type", "text/css"), ("Content-Type", "text/css"), true),
      (("Content-Type", "text/css"), ("Content-Type", "text/plain"), false),
      (("x-amz-meta-a", "1"), ("x-b", ""), false), (("x-amz-acl", "private"), ("x-b", ""), true),
      (("x-amz-storage-class", "STANDARD"), ("x-b", ""), true),
      (("x-amz-storage-class", "STANDARD"), ("x-amz-storage-class", "GLACIER"), false),
    ] {
      var machine = try Self.asking(.update) { $0.headers = [field] }
      let commands = machine.handle(try Self.object(Self.tag, length: 5, stored))
      #expect((commands == [.digest(0..<5, part: 0, [.md5])]) == isEqual, "\(field) \(stored)")
    }
  }

  @Test func `An object that another one has replaced since is not replaced`() throws {
    var machine = try Self.asking(.update)
    _ = machine.handle(try Self.object("\"x\""))
    _ = machine.handle(Script.digest(1))
    #expect(try message(machine.handle(try answer(412, part: 1))).method == "HEAD")
    var equal = machine
    #expect(failure(of: machine.handle(try Self.object("\"y\"")))?.code == .nameConflict)
    // Another run has sent the same bytes.
    let same = try Self.object("\"\(Script.hex(1))\"")
    #expect(equal.handle(same).last == .finish(.completed))
  }

  @Test func `A small object that was sent late needs no look at a remote source`() throws {
    var machine = try Self.asking(.update)
    _ = machine.handle(try answer(404))
    _ = machine.handle(Script.digest(1))
    let sent = try answer(200, [("ETag", "\"\(Script.hex(1))\"")], sent: 5, part: 1)
    _ = machine.handle(sent, at: .seconds(60))
    #expect(machine.handle(.sourceChecked(nil), at: .seconds(60)) == [.finish(.completed)])
  }

  // MARK: skip

  @Test func `An object that is there is skipped`() throws {
    var machine = try Self.asking(.skip)
    #expect(
      machine.handle(try Self.object(length: 9))
        == [.reportPresent(PresentFile(length: 9)), .finish(.completed)])
  }

  @Test func `A refused look, or a page, skips nothing: there must be no object`() throws {
    for found in [
      try answer(404), try answer(403), try answer(405), try answer(400),
      try Self.object(nil), try Self.object("\"x\"", ("Content-Type", "text/html")),
    ] {
      var machine = try Self.asking(.skip)
      let commands = machine.handle(found)
      try Self.expectSent(machine, commands, ["If-None-Match: *"])
    }
  }

  @Test func `What the store refuses to replace is skipped, also for a key that may not look`()
    throws
  {
    var machine = try Self.asking(.skip)
    _ = machine.handle(try answer(403))
    let put = try message(machine.handle(Script.digest(1)))
    let mark = try #require(put.fields["x-amz-meta-haul-upload"])
    #expect(try message(machine.handle(try answer(412, part: 1))).method == "HEAD")
    var (hidden, own, gone) = (machine, machine, machine)
    #expect(
      machine.handle(try Self.object(length: 9)).first == .reportPresent(PresentFile(length: 9)))
    #expect(
      hidden.handle(try answer(403)) == [
        .reportPresent(PresentFile(length: nil)), .finish(.completed),
      ])
    let found = try Self.object(Self.tag, ("x-amz-meta-haul-upload", mark))
    #expect(
      own.handle(found) == [.deleteRecord, .reportAcknowledged(5), .finish(.completed)])
    #expect(retried(gone.handle(try answer(404))) != nil)
  }

  @Test func `Parts of a file whose object came meanwhile are deleted`() throws {
    var machine = try Script.machine(33 << 20) { $0.ifExists = .skip }
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(404))
    _ = machine.handle(try answer(200, body: Script.created))
    _ = machine.handle(.stored(nil))
    for part in 1...3 { _ = try Script.take(part, &machine) }
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "HEAD")
    let commands = machine.handle(try Self.object(length: 9))
    #expect(commands.first == .reportPresent(PresentFile(length: 9)))
    #expect(try message(commands).method == "DELETE")
    #expect(machine.handle(try answer(204)) == [.deleteRecord, .finish(.completed)])
  }

  @Test func `A store that refuses the condition gets the object only while it has none`() throws {
    var machine = try Self.asking(.skip)
    _ = machine.handle(try answer(404))
    _ = machine.handle(Script.digest(1))
    let refusal = try answer(501, body: Script.refusal("NotImplemented"), part: 1)
    var commands = machine.handle(refusal)
    // First without checksums.
    while case .digest? = commands.last {
      _ = machine.handle(Script.digest(1))
      commands = machine.handle(refusal)
    }
    #expect(try message(commands).method == "HEAD")
    var hidden = machine
    #expect(machine.handle(try answer(404)).last == .digest(0..<5, part: 1, [.md5]))
    #expect(failure(of: hidden.handle(try answer(403)))?.code == .refused)
  }
}

import FoundationEssentials
import HaulCore
import Testing

/// Several runs of the transfer of a remote source to one object: the first that publishes wins.
@Suite struct S3PublicationTests {
  private typealias Script = S3MachineTests
  static let part: Int64 = 8 << 20
  static let link = "https://user:word@s.example/f?X-Amz-Credential=c&X-Amz-Signature=1"
  private static let transferField = "x-amz-meta-haul-transfer"

  static func source(_ length: Int64, tag: String = "\"v1\"") -> SourceIdentity {
    let validator = Validator(entityTag: tag, lastModified: nil, lastModifiedIsStrong: false)
    return SourceIdentity(RemoteVersion(length: length, validator: validator), address: "a")
  }

  static func machine(
    _ length: Int64, from link: String = link, tag: String = "\"v1\"",
    requiresCondition: Bool = false, _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> S3Machine {
    let object = try S3Object(
      bucket: "b", key: "k", endpoint: try ResourceURL("https://h.example"))
    var request = UploadRequest(
      from: DownloadRequest(url: try ResourceURL(link), to: .stream), to: object,
      credentials: S3Credentials(accessKeyID: "i", secretAccessKey: "s"))
    change(&request)
    return S3Machine(
      UploadStart(
        request, source(length, tag: tag), requiresCondition: requiresCondition,
        isAttended: false, now: Instant()))
  }

  /// The answer to HEAD about an object.
  static func object(
    _ tag: String?, transfer: String? = nil, mark: String? = nil, length: Int64 = 5,
    version: String? = "\"v1\""
  ) throws -> UploadEvent {
    let fields = [
      ("ETag", tag), (transferField, transfer), ("x-amz-meta-haul-upload", mark),
      ("x-amz-meta-haul-version", try transfer.flatMap { _ in try version.map(Self.version) }),
    ]
    return try answer(
      200,
      [("Content-Length", "\(length)")]
        + fields.compactMap { name, value in
          value.map { (name, $0) }
        })
  }

  /// How an object names the version with this entity tag.
  private static func version(_ tag: String) throws -> String {
    var machine = try machine(1, tag: tag)
    _ = machine.handle(.start(nil))
    _ = machine.handle(try answer(404))
    return try #require(
      try message(machine.handle(Script.digest(1))).fields["x-amz-meta-haul-version"])
  }

  /// What of an object names the transfer and the upload.
  struct Names {
    let transfer: String
    let mark: String

    init(_ message: UploadMessage) throws {
      transfer = try #require(message.fields[transferField])
      mark = try #require(message.fields["x-amz-meta-haul-upload"])
    }
  }

  /// A machine that sends the parts of a file of two.
  private static func sending(
    over found: UploadEvent, _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> (S3Machine, Names) {
    var machine = try machine(part + 1, change)
    #expect(try message(machine.handle(.start(nil))).method == "HEAD")
    let create = try message(machine.handle(found))
    _ = machine.handle(try answer(200, body: Script.created))
    _ = machine.handle(.stored(nil))
    return (machine, try Names(create))
  }

  /// The same with the request that makes the object.
  static func completing(
    over found: UploadEvent, _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> (machine: S3Machine, names: Names, complete: UploadMessage) {
    var (machine, names) = try sending(over: found, change)
    for part in 1...2 { _ = try Script.take(part, &machine) }
    var last = try message(machine.handle(.sourceChecked(nil)))
    // A condition that not every store obeys is looked at once more.
    if last.method == "HEAD" { last = try message(machine.handle(found)) }
    return (machine, names, last)
  }

  static func conditions(_ message: UploadMessage) -> [String] {
    message.fields.fields.filter { $0.name.hasPrefix("If-") }.map { "\($0.name): \($0.value)" }
  }

  static let beginnings: [(Int, String?, [String])] = [
    (404, nil, ["If-None-Match: *"]), (200, "\"t0\"", ["If-Match: \"t0\""]),
    (200, "W/\"t0\"", []), (200, "t0", []), (200, nil, []), (403, nil, []), (405, nil, []),
    (501, nil, []), (400, nil, []),
  ]

  @Test(arguments: beginnings)
  func `The condition is what the store has at the beginning`(
    status: Int, tag: String?, expected: [String]
  ) throws {
    let found = try status == 200 ? Self.object(tag) : answer(status)
    #expect(Self.conditions(try Self.completing(over: found).complete) == expected)
    var small = try Self.machine(1)
    #expect(try message(small.handle(.start(nil))).method == "HEAD")
    #expect(small.handle(found) == [.digest(0..<1, part: 1, [.md5, .crc32c])])
    let put = try message(small.handle(Script.digest(1)))
    #expect(Self.conditions(put) == expected)
    #expect((put.fields["x-amz-meta-haul-upload"] != nil) == !expected.isEmpty)
    #expect(put.fields[Self.transferField] != nil)
  }

  @Test func `A store that is not there yet is asked again`() throws {
    var machine = try Self.machine(1)
    _ = machine.handle(.start(nil))
    #expect(retried(machine.handle(try answer(503))) != nil)
    #expect(try message(machine.handle(.start(nil))).method == "HEAD")
  }

  @Test func `A store that is silent twice gets the object without a condition`() throws {
    var machine = try Self.machine(1)
    let silence = TransferError(.stalled, "silence", isRetryable: true)
    let lost = TransferError(.connectionLost, "lost", isRetryable: true)
    for error in [silence, lost, silence] {
      #expect(try message(machine.handle(.start(nil))).method == "HEAD")
      #expect(retried(machine.handle(.failed(error, sent: 0))) == error)
    }
    _ = machine.handle(.start(nil))
    _ = machine.handle(.failed(silence, sent: 0))
    #expect(Self.conditions(try message(machine.handle(Script.digest(1)))) == [])
  }

  @Test func `A key that may not look because the clock is wrong asks again`() throws {
    var machine = try Self.machine(1)
    _ = machine.handle(.start(nil))
    // An hour after the time of the answers.
    let late = [("Date", "Tue, 14 Nov 2023 23:13:20 GMT")]
    let again = try message(machine.handle(try answer(403, late)))
    #expect((again.method, again.signing?.clockOffset) == ("HEAD", 3600))
    _ = machine.handle(try answer(404, late))
    let put = try message(machine.handle(Script.digest(1)))
    #expect(Self.conditions(put) == ["If-None-Match: *"])
  }

  @Test func `A file of this machine is sent as before`() throws {
    var machine = try Script.machine(1)
    _ = machine.handle(.start(nil))
    let put = try message(machine.handle(Script.digest(1)))
    #expect(Self.conditions(put) == [] && put.fields[Self.transferField] == nil)
  }

  static func transfer(_ link: String, tag: String = "\"v1\"") throws -> String {
    var machine = try machine(part + 1, from: link, tag: tag)
    _ = machine.handle(.start(nil))
    return try Names(try message(machine.handle(try answer(404)))).transfer
  }

  @Test func `A transfer has one name in every run and for every version`() throws {
    let name = try Self.transfer(Self.link)
    #expect(name.count == 64)
    let again = "https://s.example/f?X-Amz-Credential=d&X-Amz-Signature=2"
    #expect(try Self.transfer(again, tag: "\"v2\"") == name)
    for other in ["https://s.example/g", "https://s.example/f?token=1", "http://s.example/f"] {
      #expect(try Self.transfer(other) != name)
    }
    #expect(
      try Self.transfer("https://s.example/f?token=1")
        != Self.transfer("https://s.example/f?token=2"))
  }

  private static let refusals = [
    (412, "PreconditionFailed"), (200, "PreconditionFailed"), (409, "ConditionalRequestConflict"),
    (404, "NoSuchUpload"), (404, "NoSuchKey"),
  ]

  @Test(arguments: refusals, ["\"t0\"", nil])
  func `The object of another run since is the result, and the parts are deleted`(
    refusal: (Int, String), tag: String?
  ) throws {
    let found = try tag.map { try Self.object($0, transfer: "x") } ?? answer(404)
    var (machine, names, _) = try Self.completing(over: found)
    let refused = try answer(refusal.0, body: Script.refusal(refusal.1))
    #expect(try message(machine.handle(refused)).method == "HEAD")
    var (own, other) = (machine, machine)
    let adopted = machine.handle(try Self.object("\"t1\"", transfer: names.transfer))
    #expect(adopted.first == .reportAdoption(length: 5))
    #expect(try message(adopted).method == "DELETE")
    #expect(machine.handle(try answer(204)) == [.deleteRecord, .finish(.completed)])

    let mine = try Self.object(
      "\"t1\"", transfer: names.transfer, mark: names.mark, length: Self.part + 1)
    #expect(own.handle(mine).last == .finish(.completed))

    let end = other.handle(try Self.object("\"t1\"", transfer: "another"))
    #expect(try message(end).method == "DELETE")
    #expect(failure(of: other.handle(try answer(204)))?.code == .nameConflict)
  }

  @Test func `An object of the transfer that was there at the beginning is no result`() throws {
    for refusal in Self.refusals {
      let name = try Self.transfer(Self.link)
      let found = try Self.object("\"t0\"", transfer: name)
      var (machine, _, _) = try Self.completing(over: found)
      _ = machine.handle(try answer(refusal.0, body: Script.refusal(refusal.1)))
      let commands = machine.handle(found)
      switch refusal.1 {
      case "NoSuchUpload":
        #expect(try message(commands).url.absoluteString.hasSuffix("?uploads"))
      case "ConditionalRequestConflict":
        #expect(try message(commands).method == "DELETE")
        #expect(try message(machine.handle(try answer(204))).method == "POST")
      // It contradicts itself, and is asked again.
      default: #expect(retried(commands)?.status == 412)
      }
    }
  }

  @Test func `A new upload in place of one that is gone has the same condition`() throws {
    var (machine, names) = try Self.sending(over: try answer(404))
    _ = machine.handle(Script.digest(1))
    let gone = try answer(404, body: Script.refusal("NoSuchUpload"), part: 1)
    #expect(try message(machine.handle(gone)).method == "HEAD")
    var adopting = machine
    let adopted = adopting.handle(try Self.object("\"t1\"", transfer: names.transfer))
    #expect(adopted.first == .reportAdoption(length: 5))
    #expect(try message(machine.handle(try answer(404))).method == "POST")
    _ = machine.handle(try answer(200, body: Script.created))
    _ = machine.handle(.stored(nil))
    for part in 1...2 { _ = try Script.take(part, &machine) }
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "HEAD")
    let complete = try message(machine.handle(try answer(404)))
    #expect(Self.conditions(complete) == ["If-None-Match: *"])
  }

  @Test func `A small object of another run is adopted; any other is a conflict`() throws {
    for status in [412, 409] {
      let code = status == 412 ? "PreconditionFailed" : "ConditionalRequestConflict"
      var machine = try Self.machine(1)
      _ = machine.handle(.start(nil))
      _ = machine.handle(try answer(404))
      let names = try Names(try message(machine.handle(Script.digest(1))))
      let refused = try answer(status, body: Script.refusal(code), part: 1)
      #expect(try message(machine.handle(refused)).method == "HEAD")
      var (other, absent) = (machine, machine)
      #expect(
        machine.handle(try Self.object("\"t1\"", transfer: names.transfer))
          == [.reportAdoption(length: 5), .finish(.completed)])
      #expect(failure(of: other.handle(try Self.object("\"t1\"")))?.code == .nameConflict)
      #expect(retried(absent.handle(try answer(404))) != nil)
      // The bytes were read before: no condition is taken that is newer than they are.
      #expect(absent.handle(.start(nil)) == [.digest(0..<1, part: 1, [.md5, .crc32c])])
      let put = try message(absent.handle(Script.digest(1)))
      #expect(Self.conditions(put) == ["If-None-Match: *"])
    }
  }

  @Test(arguments: [nil, "\"t0\""])
  func `A run after a crash has the condition of its record, and asks for none`(
    tag: String?
  ) throws {
    let found = try tag.map { try Self.object($0) } ?? answer(404)
    var first = try Self.machine(Self.part + 1)
    _ = first.handle(.start(nil))
    _ = first.handle(found)
    guard case .storeRecord(let record)? = first.handle(try answer(200, body: Script.created)).first
    else { throw TransferError(.internal, "no record") }
    let stored = try JSONDecoder().decode(
      UploadRecord.self, from: try JSONEncoder().encode(record))
    #expect(stored == record)
    var next = try Self.machine(Self.part + 1)
    #expect(try message(next.handle(.start(stored))).method == "GET")
    _ = next.handle(
      try answer(200, body: Script.list([(1, Self.part, "x"), (2, 1, "y")])))
    #expect(try message(next.handle(.sourceChecked(nil))).method == "HEAD")
    let last = try message(next.handle(found))
    #expect(Self.conditions(last) == [tag.map { "If-Match: \($0)" } ?? "If-None-Match: *"])
  }

  @Test func `A record of an earlier version has no condition, and gets none`() throws {
    let record = UploadRecord(
      address: Script.address + "?uploadId=u1", source: Self.source(Self.part + 1),
      s3: UploadRecord.S3(partSize: Self.part, mark: "m"))
    let text = try JSONEncoder().encode(record)
    #expect(!String(decoding: text, as: UTF8.self).contains("condition"))
    let stored = try JSONDecoder().decode(UploadRecord.self, from: text)
    var machine = try Self.machine(Self.part + 1)
    _ = machine.handle(.start(stored))
    _ = machine.handle(
      try answer(200, body: Script.list([(1, Self.part, "x"), (2, 1, "y")])))
    let complete = try message(machine.handle(.sourceChecked(nil)))
    #expect(complete.method == "POST" && Self.conditions(complete) == [])
  }

  @Test func `With fail, only an object since the beginning is adopted`() throws {
    let name = try Self.transfer(Self.link)
    var early = try Self.machine(1) { $0.precondition = .absent }
    _ = early.handle(.start(nil))
    let there = try Self.object("\"t1\"", transfer: name)
    #expect(failure(of: early.handle(there))?.code == .nameConflict)
    var (machine, _, _) = try Self.completing(over: try answer(404)) {
      $0.precondition = .absent
    }
    _ = machine.handle(try answer(412))
    #expect(machine.handle(there).first == .reportAdoption(length: 5))
  }

  @Test(arguments: [part, part + 1])
  func `An object of another version is adopted only if this run's is not the present one`(
    length: Int64
  ) throws {
    let name = try Self.transfer(Self.link)
    let older = try Self.object("\"t1\"", transfer: name, version: "\"v0\"")
    let changed = TransferError(.sourceChanged, "changed")
    for digests in [[], [Checksum("crc32c=01234567")].compactMap(\.self)] {
      var machine = try Self.machine(length) { $0.download?.checksums = digests }
      _ = machine.handle(.start(nil))
      if length > Self.part {
        _ = machine.handle(try answer(404))
        _ = machine.handle(try answer(200, body: Script.created))
        _ = machine.handle(.stored(nil))
        for part in 1...2 { _ = try Script.take(part, &machine) }
        _ = machine.handle(.sourceChecked(nil))
      } else {
        _ = machine.handle(try answer(404))
        _ = machine.handle(Script.digest(1))
        _ = machine.handle(
          try answer(412, body: Script.refusal("PreconditionFailed"), part: 1))
      }
      #expect(machine.handle(older) == [.checkVersion])
      var (present, gone) = (machine, machine)
      let next = present.handle(.sourceChecked(nil))
      if length > Self.part {
        #expect(try message(next).method == "HEAD")
        #expect(
          Self.conditions(try message(present.handle(older))) == ["If-Match: \"t1\""])
      } else {
        #expect(next == [.digest(0..<length, part: 1, [.md5, .crc32c])])
        #expect(
          Self.conditions(try message(present.handle(Script.digest(1)))) == ["If-Match: \"t1\""])
      }
      let end = gone.handle(.sourceChecked(changed))
      #expect(end.contains(.reportAdoption(length: 5)) == digests.isEmpty)
    }
  }

  @Test func `A version that the user names is asked for as before`() throws {
    var machine = try Self.machine(1) { $0.precondition = .entityTag("\"t0\"") }
    _ = machine.handle(.start(nil))
    #expect(Self.conditions(try message(machine.handle(Script.digest(1)))) == ["If-Match: \"t0\""])
    #expect(failure(of: machine.handle(try answer(412, part: 1)))?.code == .changedOnServer)
  }

  @Test func `When the source changes, the new version of another run is adopted`() throws {
    let changed = TransferError(.sourceChanged, "changed")
    var (machine, names) = try Self.sending(over: try answer(404))
    let commands = machine.handle(.digested(part: 1, .failure(changed)))
    #expect(try message(commands).method == "HEAD")
    var (other, lost) = (machine, machine)
    let adopted = machine.handle(try Self.object("\"t1\"", transfer: names.transfer))
    #expect(adopted.first == .reportAdoption(length: 5))
    for last in [
      other.handle(try answer(404)),
      lost.handle(.failed(TransferError(.connectionLost, "lost", isRetryable: true), sent: 0)),
    ] { #expect(try message(last).method == "DELETE") }
    #expect(failure(of: other.handle(try answer(204))) == changed)
  }

  @Test func `An object is looked at before it is replaced, because a store may not`() throws {
    let found = try Self.object("\"t0\"")
    var (machine, names) = try Self.sending(over: found)
    for part in 1...2 { _ = try Script.take(part, &machine) }
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "HEAD")
    var (other, unknown, lost) = (machine, machine, machine)
    let adopted = machine.handle(try Self.object("\"t1\"", transfer: names.transfer))
    #expect(adopted.first == .reportAdoption(length: 5))
    #expect(try message(other.handle(try Self.object("\"t1\""))).method == "DELETE")
    #expect(failure(of: other.handle(try answer(204)))?.code == .nameConflict)
    // The store has the condition, too.
    #expect(try message(unknown.handle(try answer(503))).method == "POST")
    let silence = TransferError(.stalled, "silence", isRetryable: true)
    #expect(try message(lost.handle(.failed(silence, sent: 0))).method == "POST")
  }
}

import FoundationEssentials
import HaulCore
import Testing

/// Several runs of the transfer of a remote source to one address by plain PUT.
@Suite struct PutPublicationTests {
  private static let window = Int64(UploadExtent.window)
  private static let sha256 = Checksum(.sha256, bytes: Array(repeating: 7, count: 32))
  private static let silence = TransferError(.stalled, "silence", isRetryable: true)

  /// A machine of a run with a remote source.
  private static func machine(
    _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> any UploadMachine {
    var request = UploadRequest(
      from: DownloadRequest(url: try ResourceURL("http://s.example/f"), to: .stream),
      to: try ResourceURL("http://h.example/f"))
    change(&request)
    return UploadRequest.Method.put.uploadProtocol.machine(
      UploadStart(
        request, SourceIdentity(stream: 7, length: nil), UploadExtent(end: 0, isWhole: false),
        hasRun: false, staysLocal: false, isAttended: false, now: Instant(), wallSeconds: 0))
  }

  /// The answer to HEAD about a file.
  private static func file(
    _ tag: String?, length: Int64 = 5, digest: Checksum? = nil, _ more: (String, String)...
  ) throws -> UploadEvent {
    let stated = [
      tag.map { ("ETag", $0) },
      digest.map { ("Repr-Digest", "sha-256=:\(Data($0.bytes).base64EncodedString()):") },
    ]
    return try answer(
      200, [("Content-Length", "\(length)")] + stated.compactMap(\.self) + more)
  }

  private static func conditions(_ message: UploadMessage) -> [String] {
    message.fields.fields.filter { $0.name.hasPrefix("If-") }.map { "\($0.name): \($0.value)" }
  }

  /// A machine whose request with five bytes is under way, and that request.
  private static func sending(
    over found: UploadEvent, _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> (any UploadMachine, UploadMessage) {
    var machine = try machine(change)
    #expect(try message(machine.handle(.start(nil))).method == "HEAD")
    #expect(machine.handle(found) == [.read(UploadExtent.window)])
    let put = try message(machine.handle(.read(UploadExtent(end: 5))))
    return (machine, put)
  }

  static let beginnings: [(Int, String?, [String])] = [
    (404, nil, ["If-None-Match: *"]), (410, nil, ["If-None-Match: *"]),
    (200, "\"t0\"", ["If-Match: \"t0\""]), (200, "W/\"t0\"", []), (200, "t0", []), (200, nil, []),
    (403, nil, []), (405, nil, []), (501, nil, []), (400, nil, []), (302, nil, []),
  ]

  @Test(arguments: beginnings)
  func `The condition is what the server has before the first byte is read`(
    status: Int, tag: String?, expected: [String]
  ) throws {
    let found = try status == 200 ? Self.file(tag) : answer(status)
    let put = try Self.sending(over: found).1
    #expect((put.method, put.range, put.sendsStream) == ("PUT", 0..<5, false))
    #expect(Self.conditions(put) == expected)
    var long = try Self.machine()
    _ = long.handle(.start(nil))
    _ = long.handle(found)
    let stream = try message(long.handle(.read(UploadExtent(end: Self.window, isWhole: false))))
    #expect(stream.sendsStream && Self.conditions(stream) == expected)
  }

  @Test func `A page for browsers is no file`() throws {
    let page = try Self.file("\"t0\"", ("Content-Type", "text/html"))
    #expect(Self.conditions(try Self.sending(over: page).1) == [])
  }

  @Test func `The condition stays the same in each attempt`() throws {
    var machine = try Self.sending(over: try answer(404)).0
    #expect(retried(machine.handle(try answer(503))) != nil)
    #expect(Self.conditions(try message(machine.handle(.start(nil)))) == ["If-None-Match: *"])
  }

  @Test func `A server that is silent twice gets the file without a condition`() throws {
    var machine = try Self.machine()
    _ = machine.handle(.start(nil))
    #expect(retried(machine.handle(try answer(507))) != nil)
    _ = machine.handle(.start(nil))
    #expect(retried(machine.handle(.failed(Self.silence, sent: 0))) != nil)
    #expect(try message(machine.handle(.start(nil))).method == "HEAD")
    #expect(machine.handle(.failed(Self.silence, sent: 0)) == [.read(UploadExtent.window)])
    #expect(Self.conditions(try message(machine.handle(.read(UploadExtent(end: 5))))) == [])
  }

  /// A machine that asks what there is, because the condition does not hold.
  private static func looking(
    _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> any UploadMachine {
    var machine = try Self.sending(over: try answer(404), change).0
    let look = try message(machine.handle(try answer(412, sent: 5)))
    #expect((look.method, look.isOptional) == ("HEAD", false))
    #expect(look.fields["Want-Repr-Digest"] != nil)
    return machine
  }

  @Test func `What is proved to be the same is the result`() throws {
    let digest = try #require(Self.sha256)
    for precondition in [UploadRequest.Precondition.none, .absent] {
      var machine = try Self.looking { $0.precondition = precondition }
      let file = try Self.file("\"t1\"", digest: digest)
      #expect(machine.handle(file) == [.digest(0..<5, part: 0, [.sha256])])
      var other = machine
      #expect(
        machine.handle(.digested(part: 0, .success([digest])))
          == [.reportAdoption(length: 5), .finish(.completed)])
      let own = try #require(Checksum(.sha256, bytes: Array(repeating: 8, count: 32)))
      let error = failure(of: other.handle(.digested(part: 0, .success([own]))))
      #expect(error?.code == .nameConflict)
    }
  }

  @Test func `An entity tag or a checksum of ownCloud may prove it`() throws {
    let md5 = try #require(Checksum("md5=0123456789abcdef0123456789abcdef"))
    let sha1 = try #require(Checksum("sha1=\(String(repeating: "ab", count: 20))"))
    var tagged = try Self.looking()
    #expect(
      tagged.handle(try Self.file("\"0123456789ABCDEF0123456789abcdef\""))
        == [.digest(0..<5, part: 0, [.md5])])
    var other = tagged
    #expect(tagged.handle(.digested(part: 0, .success([md5]))).last == .finish(.completed))
    let own = try #require(Checksum("md5=1123456789abcdef0123456789abcdef"))
    let error = failure(of: other.handle(.digested(part: 0, .success([own]))))
    // Not every tag of that form is an MD5.
    #expect(error?.message.contains("compare it") == true)
    var named = try Self.looking()
    let file = try Self.file("\"t1\"", ("OC-Checksum", "SHA1:\(sha1.hex) ADLER32:01234567"))
    #expect(named.handle(file) == [.digest(0..<5, part: 0, [.sha1])])
    #expect(named.handle(.digested(part: 0, .success([sha1]))).last == .finish(.completed))
  }

  @Test func `What is not proved to be the same is never the result`() throws {
    for file in [
      try Self.file("\"t1\""), try Self.file(nil), try Self.file("\"t1\"", length: 6),
      try Self.file("\"t1\"", ("Repr-Digest", "crc32c=:AAAAAA==:")), try answer(403),
    ] {
      var machine = try Self.looking()
      #expect(failure(of: machine.handle(file))?.code == .nameConflict)
    }
  }

  @Test func `A condition that holds all the same, or no answer, is another attempt`() throws {
    for found in [try answer(404), try answer(503), .failed(Self.silence, sent: 0)] {
      var machine = try Self.looking()
      #expect(retried(machine.handle(found)) != nil)
      #expect(Self.conditions(try message(machine.handle(.start(nil)))) == ["If-None-Match: *"])
    }
  }

  @Test func `A condition that is refused twice although it holds is left out`() throws {
    for precondition in [UploadRequest.Precondition.none, .absent] {
      var machine = try Self.looking { $0.precondition = precondition }
      #expect(retried(machine.handle(try answer(404)))?.status == 412)
      // With the user's condition, it is asked for again first.
      if try message(machine.handle(.start(nil))).method == "HEAD" {
        _ = machine.handle(try answer(404))
      }
      _ = machine.handle(try answer(412))
      let commands = machine.handle(try answer(404))
      guard precondition == .none else {
        #expect(retried(commands)?.status == 412)
        continue
      }
      guard case .reportRefusal? = commands.first else {
        throw TransferError(.internal, "not reported")
      }
      #expect(Self.conditions(try message(commands)) == [])
    }
  }

  @Test func `A stream that is gone is compared with the digest that the user gave`() throws {
    let digest = try #require(Self.sha256)
    for checksums in [[digest], []] {
      var machine = try Self.machine { $0.download?.checksums = checksums }
      _ = machine.handle(.start(nil))
      _ = machine.handle(try answer(404))
      _ = machine.handle(.read(UploadExtent(end: Self.window, isWhole: false)))
      let length = Self.window + 5
      _ = machine.handle(.streamSent(length: length))
      #expect(try message(machine.handle(try answer(412, sent: length))).method == "HEAD")
      let end = machine.handle(try Self.file("\"t1\"", length: length, digest: digest))
      #expect((end.last == .finish(.completed)) == !checksums.isEmpty)
      #expect((failure(of: end)?.code == .nameConflict) == checksums.isEmpty)
    }
  }

  @Test(arguments: [400, 405, 422, 501])
  func `A server that refuses conditions gets the file without one, after one more look`(
    status: Int
  ) throws {
    var machine = try Self.sending(over: try answer(404)).0
    let commands = machine.handle(try answer(status))
    guard case .reportRefusal(let error)? = commands.first else {
      throw TransferError(.internal, "not reported")
    }
    #expect(error.message.contains("perhaps because of If-None-Match"))
    #expect(try message(commands).method == "HEAD")
    var (replaced, unknown) = (machine, machine)
    #expect(failure(of: replaced.handle(try Self.file("\"t1\"")))?.code == .nameConflict)
    #expect(retried(unknown.handle(try answer(503))) != nil)
    #expect(try message(unknown.handle(.start(nil))).method == "HEAD")
    #expect(Self.conditions(try message(machine.handle(try answer(404)))) == [])
    var unmet = machine
    #expect(failure(of: machine.handle(try answer(status)))?.status == status)
    #expect(failure(of: unmet.handle(try answer(412)))?.code == .nameConflict)
  }

  @Test func `A condition of the user is never left out`() throws {
    for precondition in [UploadRequest.Precondition.absent, .entityTag("\"t\"")] {
      var request = UploadRequest("/f", to: try ResourceURL("http://h.example/f"))
      request.precondition = precondition
      var machine = PutMachine(
        request, length: 5, hasRun: false, isAttended: false, now: Instant())
      if try message(machine.handle(.start(nil))).method == "HEAD" {
        _ = machine.handle(try answer(404))
      }
      let error = failure(of: machine.handle(try answer(501)))
      #expect(error?.message.contains("perhaps because of If-") == true)
    }
    var asking = try Self.machine { $0.precondition = .absent }
    _ = asking.handle(.start(nil))
    // The question has no condition.
    let error = failure(of: asking.handle(try answer(400)))
    #expect(error?.status == 400 && error?.message.contains("If-None-Match") == false)
  }

  @Test func `A file of another length may be that of another run, and is not replaced`() throws {
    var machine = try Self.sending(over: try answer(404)).0
    #expect(machine.handle(try answer(201, sent: 5)) == [.checkSource])
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "HEAD")
    let error = failure(of: machine.handle(try Self.file("\"t1\"", length: 6)))
    #expect(error?.code == .lengthMismatch)
  }

  @Test func `A file of this machine is sent as before`() throws {
    var machine = PutMachine(
      UploadRequest("/f", to: try ResourceURL("http://h.example/f")), length: 5, hasRun: false,
      isAttended: false, now: Instant())
    let put = try message(machine.handle(.start(nil)))
    #expect(put.method == "PUT" && Self.conditions(put) == [])
  }
}

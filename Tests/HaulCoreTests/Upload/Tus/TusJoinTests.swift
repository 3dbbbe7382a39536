import Foundation
import HaulCore
import Testing

/// Uploads by tus in parts that the server joins, event by event.
@Suite struct TusJoinTests {
  static let files = "http://h.example/files/"
  static let part: Int64 = 16 << 20
  static let length = 4 * part
  static let lost = TransferError(.connectionLost, "lost", isRetryable: true)
  static let source = identity(length)
  /// When a server that is far away answers: the machine asks after one second.
  static let later = Duration.milliseconds(1050)

  static func identity(_ length: Int64) -> SourceIdentity {
    SourceIdentity(
      FileStatus(
        kind: .regular, device: 1, inode: 2, size: length, owner: 0, mode: 0o644, links: 1,
        modified: 3))
  }

  func machine(_ length: Int64 = length, retries: Int = 2) throws -> TusMachine {
    var request = UploadRequest("/d/f", to: try ResourceURL("http://u:p@h.example/files/"))
    request.method = .tus
    request.retry.retries = retries
    return TusMachine(
      UploadStart(request, Self.identity(length), isAttended: false, now: Instant()))
  }

  static func offered(
    _ extensions: String = "creation,concatenation"
  ) throws -> UploadEvent {
    try answer(204, [("Tus-Version", "1.0.0"), ("Tus-Extension", extensions)])
  }

  static func record(
    _ stage: UploadRecord.Tus.Stage = .sending, count: Int = 4
  ) -> UploadRecord {
    let size = length / Int64(count)
    let parts = (0..<count).map { number in
      UploadRecord.Tus.Part(
        address: "\(files)u\(number)", range: (Int64(number) * size)..<(Int64(number + 1) * size))
    }
    return UploadRecord(
      address: "\(files)u0", source: source, tus: .init(parts: parts, stage: stage))
  }

  /// The requests for bytes among commands.
  func appends(_ commands: [UploadCommand]) -> [UploadMessage] {
    commands.compactMap { command in
      if case .send(let message) = command, message.method == "PATCH" { message } else { nil }
    }
  }

  /// A machine whose parts are created, and what it does once that is stored.
  func created(_ count: Int = 4) throws -> (TusMachine, [UploadCommand]) {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    _ = machine.handle(try Self.offered(), at: Self.later)
    _ = machine.handle(.connected(count))
    for number in 0..<count { _ = machine.handle(try answer(201, [("Location", "u\(number)")])) }
    let commands = machine.handle(.stored(nil))
    return (machine, commands)
  }

  /// The answer to a request for all bytes of a part.
  func taken(_ number: Int) throws -> UploadEvent {
    try answer(204, [("Upload-Offset", "\(Self.part)")], sent: Self.part, part: number)
  }

  @Test func `Parts whose PATCH was on its way go as POST too`() throws {
    var (machine, _) = try created(2)
    for number in 0..<2 {
      #expect(try message(machine.handle(try answer(405, part: number))).method == "POST")
    }
  }

  /// A machine that has told the server to join the parts.
  func joining() throws -> (TusMachine, UploadMessage) {
    var (machine, _) = try created()
    for number in 0..<4 { _ = machine.handle(try taken(number)) }
    #expect(machine.handle(.sourceChecked(nil)) == [.storeRecord(Self.record(.joining))])
    let join = try message(machine.handle(.stored(nil)))
    return (machine, join)
  }

  @Test func `Parts are created and stored before a byte goes out, and sent at once`() throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    #expect(machine.handle(try Self.offered(), at: Self.later) == [.connect(4)])
    let create = try message(machine.handle(.connected(4)))
    #expect(create.fields["Upload-Concat"] == "partial")
    #expect(create.fields["Upload-Length"] == "\(Self.part)")
    for number in 0..<3 {
      let next = try message(machine.handle(try answer(201, [("Location", "u\(number)")])))
      #expect(next.method == "POST")
    }
    #expect(
      machine.handle(try answer(201, [("Location", "u3")])) == [.storeRecord(Self.record())])
    let sent = appends(machine.handle(.stored(nil)))
    #expect(sent.map(\.part) == [0, 1, 2, 3])
    #expect(sent.compactMap(\.range) == Self.record().tus?.parts.map(\.range))
    #expect(sent.map { $0.fields["Upload-Offset"] } == ["0", "0", "0", "0"])
    #expect(sent.allSatisfy { $0.fields["Upload-Length"] == nil })
  }

  @Test func `There are as many parts as connections are granted; with one, no parts`() throws {
    for count in 1...3 {
      let (_, commands) = try created(count)
      #expect(appends(commands).count == count)
    }
    let (_, commands) = try created(1)
    #expect(try message(commands).range == 0..<Self.length)
  }

  @Test(arguments: [("creation", length), ("creation,concatenation", length - 1)])
  func `A server that cannot join, and a smaller file, get one upload`(
    extensions: String, length: Int64
  ) throws {
    var machine = try machine(length)
    _ = machine.handle(.start(nil))
    let create = try message(machine.handle(try Self.offered(extensions), at: Self.later))
    #expect(create.fields["Upload-Concat"] == nil)
    #expect(create.fields["Upload-Length"] == "\(length)")
  }

  @Test func `A server that is near gets one upload, also after a far one has lost it`() throws {
    var machine = try machine()
    _ = machine.handle(.start(nil))
    let create = try message(machine.handle(try Self.offered(), at: .milliseconds(1049)))
    #expect(create.fields["Upload-Concat"] == nil)
    #expect(create.fields["Upload-Length"] == "\(Self.length)")

    var (other, _) = try created()
    _ = other.handle(try answer(404, part: 0), at: .seconds(9))
    for number in 1..<4 { _ = other.handle(try taken(number), at: .seconds(9)) }
    _ = other.handle(try answer(404), at: .seconds(9))
    let again = try message(other.handle(try Self.offered(), at: .milliseconds(9049)))
    #expect(again.fields["Upload-Concat"] == nil)
  }

  @Test(arguments: [400, 403, 501])
  func `A server that refuses a part gets one upload`(status: Int) throws {
    for before in [0, 1] {
      var machine = try machine()
      _ = machine.handle(.start(nil))
      _ = machine.handle(try Self.offered(), at: Self.later)
      _ = machine.handle(.connected(4))
      for number in 0..<before {
        _ = machine.handle(try answer(201, [("Location", "u\(number)")]))
      }
      #expect(machine.handle(try answer(status)) == [.connect(1)])
      let create = try message(machine.handle(.connected(1)))
      #expect(create.fields["Upload-Concat"] == nil)
      #expect(create.fields["Upload-Length"] == "\(Self.length)")
      #expect(create.fields["Upload-Metadata"] != nil)
      _ = machine.handle(try answer(201, [("Location", "whole")]))
      #expect(try message(machine.handle(.stored(nil))).range == 0..<Self.length)
    }
  }

  @Test func `Only acknowledged bytes count, and the parts are joined once the source is checked`()
    throws
  {
    var (machine, _) = try created()
    for (number, sum) in [(2, 1), (0, 2), (3, 3)] as [(Int, Int64)] {
      #expect(machine.handle(try taken(number)) == [.reportAcknowledged(sum * Self.part)])
    }
    #expect(
      machine.handle(try taken(1)) == [.reportAcknowledged(Self.length), .checkSource])
    #expect(machine.handle(.sourceChecked(nil)) == [.storeRecord(Self.record(.joining))])
    let join = try message(machine.handle(.stored(nil)))
    #expect((join.method, join.takesLong) == ("POST", true))
    let urls = (0..<4).map { "\(Self.files)u\($0)" }.joined(separator: " ")
    #expect(join.fields["Upload-Concat"] == "final;\(urls)")
    #expect(join.fields["Upload-Length"] == nil)
    #expect(join.fields["Upload-Metadata"]?.hasPrefix("filename Zg==,") == true)
    let joined = UploadRecord(
      address: "\(Self.files)whole", source: Self.source, tus: .init(parts: [], stage: .joined))
    #expect(machine.handle(try answer(201, [("Location", "whole")])) == [.storeRecord(joined)])
    let confirm = try message(machine.handle(.stored(nil)))
    #expect((confirm.method, confirm.url.path) == ("HEAD", "/files/whole"))
    let whole = [("Upload-Offset", "\(Self.length)"), ("Upload-Length", "\(Self.length)")]
    #expect(machine.handle(try answer(200, whole)) == [.deleteRecord, .finish(.completed)])
  }

  @Test func `A source that changed is not joined`() throws {
    var (machine, _) = try created()
    for number in 0..<4 { _ = machine.handle(try taken(number)) }
    let changed = TransferError(.sourceChanged, "changed")
    #expect(
      machine.handle(.sourceChecked(changed)) == [.deleteRecord, .finish(.failed(changed))])
  }

  @Test func `A part that failed waits for the requests of the others, and each is asked for`()
    throws
  {
    var (machine, _) = try created()
    #expect(machine.handle(.failed(Self.lost, sent: 100, part: 1)).isEmpty)
    for number in [0, 2] {
      #expect(machine.handle(try taken(number)).count == 1)
    }
    guard case .retry? = machine.handle(try taken(3)).last else {
      Issue.record("no retry")
      return
    }
    #expect(machine.handle(.start(nil)).isEmpty == false)
    for number in 0..<4 {
      let offset = number == 1 ? 60 : Self.part
      let commands = machine.handle(
        try answer(200, [("Upload-Offset", "\(offset)"), ("Upload-Length", "\(Self.part)")]))
      guard number == 3 else {
        #expect(try message(commands).method == "HEAD")
        continue
      }
      let again = try message(commands)
      #expect((again.part, again.fields["Upload-Offset"]) == (1, "60"))
      #expect(again.range == (Self.part + 60)..<(2 * Self.part))
    }
  }

  @Test func `The parts of an earlier run continue, each where the server says`() throws {
    var machine = try machine()
    #expect(try message(machine.handle(.start(Self.record()))).method == "OPTIONS")
    #expect(machine.handle(try Self.offered(), at: Self.later) == [.connect(4)])
    var commands = machine.handle(.connected(2))
    for (number, offset) in [5, Self.part, 0, 7].enumerated() {
      let ask = try message(commands)
      #expect((ask.method, ask.url.path) == ("HEAD", "/files/u\(number)"))
      commands = machine.handle(try answer(200, [("Upload-Offset", "\(offset)")]))
    }
    #expect(commands.first == .reportAcknowledged(Self.part + 12))
    // As many at once as connections are granted.
    #expect(appends(commands).map(\.part) == [0, 2])
    #expect(appends(commands).map { $0.fields["Upload-Offset"] } == ["5", "0"])
  }

  @Test func `More bytes of a part than were sent, or another length, are an error`() throws {
    for fields in [
      [("Upload-Offset", "\(Self.part + 1)")], [("Upload-Offset", "\(Int64.max)")],
      [("Upload-Offset", "0"), ("Upload-Length", "\(Self.length)")],
    ] {
      var machine = try machine()
      _ = machine.handle(.start(Self.record()))
      _ = machine.handle(try Self.offered(), at: Self.later)
      _ = machine.handle(.connected(4))
      #expect(failure(of: machine.handle(try answer(200, fields)))?.code == .protocolViolation)
    }
  }

  @Test func `A part that is gone begins the whole upload anew, once the others have ended`()
    throws
  {
    var (machine, _) = try created()
    #expect(machine.handle(try answer(404, part: 2)).isEmpty)
    for number in [0, 1] { _ = machine.handle(try taken(number)) }
    var asked = machine.handle(try taken(3))
    for _ in 0..<2 {
      #expect(try message(asked).method == "HEAD")
      asked = machine.handle(try answer(200, [("Upload-Offset", "\(Self.part)")]))
    }
    let commands = machine.handle(try answer(404))
    #expect(commands.prefix(2) == [.deleteRecord, .reportAcknowledged(0)])
    #expect(try message(commands).method == "OPTIONS")
  }

  @Test func `A part whose body is too long for something before the server goes in smaller ones`()
    throws
  {
    var (machine, _) = try created()
    #expect(machine.handle(try answer(404, part: 2)).isEmpty)
    for number in [0, 1] { _ = machine.handle(try taken(number)) }
    var commands = machine.handle(try taken(3))
    for number in 0..<4 {
      #expect(try message(commands).method == "HEAD")
      let count = number == 2 ? 0 : Self.part
      commands = machine.handle(try answer(200, [("Upload-Offset", "\(count)")]))
    }
    let next = try message(commands)
    #expect((next.method, next.part) == ("PATCH", 2))
    #expect(next.range == (2 * Self.part)..<(2 * Self.part + 8 << 20))
  }

  @Test func `A cancel deletes each part`() throws {
    var request = UploadRequest("/d/f", to: try ResourceURL(Self.files))
    request.method = .tus
    let messages = TusMachine.terminations(of: Self.record(), request)
    #expect(messages.map(\.method) == Array(repeating: "DELETE", count: 4))
    #expect(messages.map(\.url.path) == (0..<4).map { "/files/u\($0)" })
    let single = UploadRecord(address: "\(Self.files)u9", source: Self.source)
    #expect(TusMachine.terminations(of: single, request).map(\.url.path) == ["/files/u9"])
  }

  @Test func `A record of an older version is read; parts survive being stored`() throws {
    let source = #"{"device":1,"inode":2,"size":\#(Self.length),"modified":3}"#
    let old = #"{"address":"\#(Self.files)u1","source":\#(source)}"#
    let record = try JSONDecoder().decode(UploadRecord.self, from: Data(old.utf8))
    #expect(record == UploadRecord(address: "\(Self.files)u1", source: Self.source))
    let stored = try JSONEncoder().encode(Self.record(.joining))
    #expect(try JSONDecoder().decode(UploadRecord.self, from: stored) == Self.record(.joining))
  }

  @Test func `Stored parts that are not the whole file are not continued`() throws {
    var record = Self.record()
    record.tus?.parts.remove(at: 1)
    var machine = try machine()
    _ = machine.handle(.start(record))
    // A new upload begins.
    #expect(machine.handle(try Self.offered(), at: Self.later) == [.connect(4)])
    #expect(try message(machine.handle(.connected(4))).method == "POST")
  }
}

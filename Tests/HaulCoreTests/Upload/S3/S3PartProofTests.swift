import HaulCore
import Testing

/// How a store shows that it has the bytes of each part.
@Suite struct S3PartProofTests {
  private typealias Script = S3MachineTests
  private static let field = "Content-MD5"
  private static let size: Int64 = 16 << 20

  /// The request with the next part.
  private static func sent(_ part: Int, _ machine: inout S3Machine) throws -> UploadMessage {
    try message(machine.handle(Script.digest(part)))
  }

  private static func taken(_ part: Int, tag: String) throws -> UploadEvent {
    try answer(200, [("ETag", tag)], sent: size, part: part)
  }

  /// A machine that has sent its second part without an MD5.
  private static func trusting() throws -> S3Machine {
    var machine = try Script.sending()
    #expect(try sent(1, &machine).fields[field] != nil)
    _ = machine.handle(try taken(1, tag: "\"\(Script.hex(1))\""))
    #expect(try sent(2, &machine).fields[field] == nil)
    return machine
  }

  @Test func `Where a tag was the MD5 of its part, the next tags are compared with it`() throws {
    var machine = try Self.trusting()
    let commands = machine.handle(try Self.taken(2, tag: Script.hex(2).uppercased()))
    #expect(commands.first == .reportAcknowledged(32 << 20))
  }

  @Test(arguments: [Script.hex(3), "t", ""])
  func `A part with another tag is sent again, with its MD5`(tag: String) throws {
    var machine = try Self.trusting()
    let error = retried(machine.handle(try Self.taken(2, tag: "\"\(tag)\"")))
    #expect(error?.code == .checksumMismatch)
    #expect(machine.handle(.start(nil)) == [.digest(Self.size..<(2 * Self.size), part: 2, [.md5])])
    #expect(try Self.sent(2, &machine).fields[Self.field] != nil)
    // This store's tags say nothing, but it has checked the MD5.
    #expect(
      machine.handle(try Self.taken(2, tag: "t")).first == .reportAcknowledged(32 << 20))
    #expect(try Self.sent(3, &machine).fields[Self.field] != nil)
  }

  @Test func `A part under way without its MD5 is not done by another part's doubts`() throws {
    var machine = try Script.machine(80 << 20)
    _ = machine.handle(.start(nil, connections: 2))
    _ = machine.handle(try answer(200, body: Script.created))
    _ = machine.handle(.stored(nil))
    _ = try Self.sent(1, &machine)
    _ = try Self.sent(2, &machine)
    _ = machine.handle(try Self.taken(1, tag: Script.hex(1)))
    #expect(try Self.sent(3, &machine).fields[Self.field] == nil)
    // It was sent with its MD5, so it is done; but tags are not trusted any more.
    #expect(machine.handle(try Self.taken(2, tag: "t")).first == .reportAcknowledged(32 << 20))
    #expect(try Self.sent(4, &machine).fields[Self.field] != nil)
    #expect(!machine.handle(try Self.taken(3, tag: "t")).contains(.reportAcknowledged(48 << 20)))
  }

  /// A machine that has sent two of three parts, each with its MD5.
  private static func sendingTwo() throws -> S3Machine {
    var machine = try Script.machine(48 << 20)
    _ = machine.handle(.start(nil, connections: 2))
    _ = machine.handle(try answer(200, body: Script.created))
    _ = machine.handle(.stored(nil))
    for part in 1...2 { #expect(try sent(part, &machine).fields[field] != nil) }
    return machine
  }

  @Test func `Where tags turn out to be MD5, a part with another MD5 is sent again`() throws {
    var machine = try Self.sendingTwo()
    let wrong = try Self.taken(1, tag: Script.hex(9))
    // The tags of this store may be something else.
    #expect(machine.handle(wrong).first == .reportAcknowledged(Self.size))
    let commands = machine.handle(try Self.taken(2, tag: Script.hex(2)))
    #expect(
      commands == [.reportAcknowledged(Self.size), .digest(0..<Self.size, part: 1, [.md5])])
    #expect(try Self.sent(1, &machine).fields[Self.field] != nil)
    _ = machine.handle(Script.digest(3))
    _ = machine.handle(try Self.taken(3, tag: Script.hex(3)))
    #expect(retried(machine.handle(wrong))?.code == .checksumMismatch)
  }

  @Test func `Where tags are MD5, a part with another one is wrong`() throws {
    var machine = try Self.sendingTwo()
    _ = machine.handle(try Self.taken(2, tag: Script.hex(2)))
    _ = machine.handle(try Self.taken(1, tag: Script.hex(9)))
    #expect(retried(machine.handle(Script.digest(3)))?.code == .checksumMismatch)
    #expect(machine.handle(.start(nil)) == [.digest(0..<Self.size, part: 1, [.md5])])
    #expect(try Self.sent(1, &machine).fields[Self.field] != nil)
  }

  @Test func `A store whose tags are no MD5 checks the MD5 of each part`() throws {
    var machine = try Script.sending()
    for part in 1...3 {
      #expect(try Self.sent(part, &machine).fields[Self.field] != nil)
      _ = machine.handle(try Self.taken(part, tag: "t"))
    }
    #expect(try message(machine.handle(.sourceChecked(nil))).method == "POST")
  }

  @Test(arguments: ["InvalidRequest", "InvalidDigest", "MissingContentMD5"])
  func `A store that wants the MD5 gets it at once`(code: String) throws {
    var machine = try Self.trusting()
    let refused = try answer(400, body: Script.refusal(code), part: 2)
    #expect(machine.handle(refused) == [.digest(Self.size..<(2 * Self.size), part: 2, [.md5])])
    #expect(try Self.sent(2, &machine).fields[Self.field] != nil)
    // With it, the same refusal has another reason.
    #expect(failure(of: machine.handle(refused)) != nil)
  }
}

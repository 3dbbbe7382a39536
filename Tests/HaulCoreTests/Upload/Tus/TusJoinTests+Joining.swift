import HaulCore
import Testing

/// The request that joins the parts, and what a crash leaves of it.
extension TusJoinTests {
  @Test(arguments: [408, 500, 502, 503, 504])
  func `A server that may have joined the parts is not told again; the next run tells it again`(
    status: Int
  ) throws {
    var (machine, _) = try joining()
    let commands = machine.handle(try answer(status))
    // Then the user has been told, and no byte is sent again.
    #expect(commands.first == .storeRecord(Self.record()))
    #expect(failure(of: commands)?.isRetryable == false)
    #expect(failure(of: commands)?.message.contains("may have the whole file") == true)
  }

  @Test func `A lost answer to the joining is an error that says so`() throws {
    var (machine, _) = try joining()
    let commands = machine.handle(.failed(Self.lost, sent: 0))
    #expect(commands.first == .storeRecord(Self.record()))
    #expect(failure(of: commands)?.message.contains("may have the whole file") == true)
  }

  @Test func `Without a connection, and if the server is busy, it is told again`() throws {
    let unreachable = TransferError(.connect, "refused", isRetryable: true)
    let events: [UploadEvent] = [
      .failed(unreachable, sent: 0), try answer(423), try answer(429),
    ]
    for event in events {
      var (machine, _) = try joining()
      guard case .retry? = machine.handle(event).first else {
        Issue.record("no retry")
        continue
      }
      let again = try message(machine.handle(.start(nil)))
      #expect(again.fields["Upload-Concat"]?.hasPrefix("final;") == true)
    }
  }

  @Test func `A crash while the server joins is an error once; then no byte is sent again`()
    throws
  {
    var machine = try machine()
    let commands = machine.handle(.start(Self.record(.joining)))
    #expect(commands.first == .storeRecord(Self.record()))
    #expect(failure(of: commands)?.code == .interrupted)

    var next = try self.machine()
    _ = next.handle(.start(Self.record()))
    _ = next.handle(try Self.offered(), at: Self.later)
    var asked = next.handle(.connected(4))
    for _ in 0..<4 {
      #expect(try message(asked).method == "HEAD")
      asked = next.handle(try answer(200, [("Upload-Offset", "\(Self.part)")]))
    }
    #expect(asked == [.reportAcknowledged(Self.length), .checkSource])
  }

  @Test func `A refusal to join is an error, and not a file that may be there`() throws {
    var (machine, _) = try joining()
    let commands = machine.handle(try answer(400))
    #expect(commands.first == .storeRecord(Self.record()))
    #expect(failure(of: commands)?.message.contains("may have") == false)
  }

  @Test func `A server that lacks a part when it joins gets a new upload`() throws {
    var (machine, _) = try joining()
    let commands = machine.handle(try answer(404))
    #expect(commands.prefix(2) == [.deleteRecord, .reportAcknowledged(0)])
  }

  @Test func `After a crash a file that was joined is recognised`() throws {
    var machine = try machine()
    let record = UploadRecord(
      address: "\(Self.files)whole", source: Self.source, tus: .init(parts: [], stage: .joined))
    let commands = machine.handle(.start(record))
    #expect(commands.first == .reportAcknowledged(Self.length))
    #expect(try message(commands).method == "HEAD")
    let whole = [("Upload-Offset", "\(Self.length)")]
    #expect(machine.handle(try answer(200, whole)) == [.deleteRecord, .finish(.completed)])
  }

  @Test func `A server that still joins the parts is asked again; another length is an error`()
    throws
  {
    var (machine, _) = try joining()
    _ = machine.handle(try answer(201, [("Location", "whole")]))
    _ = machine.handle(.stored(nil))
    var late = machine
    guard case .retry? = late.handle(try answer(200)).first else {
      Issue.record("no retry")
      return
    }
    #expect(try message(late.handle(.start(nil))).method == "HEAD")
    let commands = machine.handle(
      try answer(200, [("Upload-Offset", "5"), ("Upload-Length", "5")]))
    #expect(commands.first == .deleteRecord)
    #expect(failure(of: commands)?.code == .protocolViolation)
  }

  @Test(arguments: [403, 404, 405])
  func `A server that has joined the parts need not keep the file there`(status: Int) throws {
    var (machine, _) = try joining()
    _ = machine.handle(try answer(201, [("Location", "whole")]))
    _ = machine.handle(.stored(nil))
    #expect(machine.handle(try answer(status)) == [.deleteRecord, .finish(.completed)])
  }
}

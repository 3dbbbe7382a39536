import HaulCore
import Testing

/// When a server stored a file, by the clock of this machine, as `--if-exists update` by PUT sees
/// it.
@Suite struct StoredDateTests {
  /// The time here when the answer of the script comes.
  private static let now: Int64 = 1_700_000_000

  private static func date(_ seconds: Int64) -> String {
    HTTPDate(secondsSince1970: seconds).imfFixdate
  }

  /// Whether a file that changed at that time is kept.
  /// - Parameters:
  ///   - stored: the date of the file there, by the server's clock.
  ///   - clock: the server's clock; nil if it does not send it.
  ///   - elapsed: until the answer comes.
  private static func isKept(
    changed: Double, stored: Int64, clock: Int64? = now, elapsed: Duration = .zero
  ) throws -> Bool {
    let request = try UploadRequest.updating()
    let source = S3MachineTests.source(5)
    var machine = UploadRequest.Method.put.uploadProtocol.machine(
      UploadStart(request, source, changed: changed, isAttended: false, now: Instant()))
    _ = machine.handle(.start(nil), at: .seconds(1))
    let fields = [
      ("Content-Length", "5"), ("Last-Modified", date(stored)), ("Date", clock.map(date) ?? ""),
    ]
    let commands = machine.handle(
      try answer(200, fields.filter { !$0.1.isEmpty }), at: .seconds(1) + elapsed)
    return commands == [.checkSource]
  }

  @Test func `A file that was stored after the last change is kept`() throws {
    let now = Self.now
    #expect(try Self.isKept(changed: Double(now) - 100, stored: now - 50))
    #expect(try !Self.isKept(changed: Double(now) - 50, stored: now - 100))
  }

  @Test func `Dates of whole seconds leave a second open, which counts as older`() throws {
    let now = Self.now
    // Stored from 10 to 11 s ago by a clock that is right, or fast by less than a second.
    #expect(try Self.isKept(changed: Double(now) - 11.1, stored: now - 10))
    #expect(try !Self.isKept(changed: Double(now) - 11, stored: now - 10))
    #expect(try !Self.isKept(changed: Double(now) - 10, stored: now - 10))
  }

  @Test(arguments: [-86_400, -60, 60, 86_400] as [Int64])
  func `A clock that is wrong there makes no difference`(offset: Int64) throws {
    let (now, clock) = (Self.now, Self.now + offset)
    #expect(try Self.isKept(changed: Double(now) - 100, stored: clock - 50, clock: clock))
    #expect(try !Self.isKept(changed: Double(now) - 50, stored: clock - 100, clock: clock))
  }

  @Test func `A slow answer makes no file newer`() throws {
    let now = Self.now
    // The server looked at its clock at the question: 30 s before the answer came.
    #expect(
      try !Self.isKept(
        changed: Double(now) - 70, stored: now - 80, clock: now - 30, elapsed: .seconds(30)))
    #expect(
      try Self.isKept(
        changed: Double(now) - 90, stored: now - 80, clock: now - 30, elapsed: .seconds(30)))
  }

  @Test func `Without the server's clock, or with a date that is none, nothing is known`() throws {
    let now = Self.now
    #expect(try !Self.isKept(changed: 1, stored: now - 50, clock: nil))
    #expect(try !Self.isKept(changed: Double(now) + 100, stored: now - 50))
    #expect(try !Self.isKept(changed: 1, stored: now + 1))
    #expect(try Self.isKept(changed: 1, stored: now))
  }
}

extension UploadRequest {
  /// A file that goes to `http://h.example/f` with PUT, unless it is there.
  static func updating(
    _ ifExists: IfExists = .update, _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws -> UploadRequest {
    var request = UploadRequest("/d/f", to: try ResourceURL("http://h.example/f"))
    request.ifExists = ifExists
    change(&request)
    return request
  }
}

import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

@Suite("Sessions of the web page") struct WebSessionsTests {
  private let directory = FileManager.default.temporaryDirectory
    .appending(path: "haul-sessions-\(UUID().uuidString)")
  private let clock = ManualClock(wallStart: 1_000_000)
  private var file: String { directory.appending(path: "sessions").path }

  init() throws {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
  }

  private func sessions() throws -> WebSessions { try WebSessions(file: file, clock: clock) }

  @Test("a code is good once, and a wrong one never")
  func once() throws {
    let sessions = try sessions()
    let code = sessions.makeCode()
    #expect(code.utf8.count == 32)
    #expect(try sessions.begin(with: String(code.reversed())) == nil)
    #expect(try sessions.begin(with: "") == nil)
    let token = try #require(try sessions.begin(with: code))
    #expect(try sessions.begin(with: code) == nil)
    #expect(sessions.isValid(token))
    #expect(!sessions.isValid(token + "0"))
    #expect(!sessions.isValid(code))
  }

  @Test("a code is good for a minute")
  func late() throws {
    let sessions = try sessions()
    let (early, late) = (sessions.makeCode(), sessions.makeCode())
    clock.advance(by: .seconds(59))
    #expect(try sessions.begin(with: early) != nil)
    clock.advance(by: .seconds(1))
    #expect(try sessions.begin(with: late) == nil)
  }

  @Test("a session and the port survive a restart, and the file has no token")
  func restart() throws {
    let first = try sessions()
    #expect(first.port == nil)
    try first.setPort(4711)
    #expect(first.port == nil, "no session, no page")
    let token = try #require(try first.begin(with: first.makeCode()))
    let second = try sessions()
    #expect(second.port == 4711)
    #expect(second.isValid(token))
    let text = try String(contentsOfFile: file, encoding: .utf8)
    #expect(!text.contains(token))
    let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test("a session ends when it was not used for 30 days, and at most 32 are kept")
  func ends() throws {
    let sessions = try sessions()
    let idle = try #require(try sessions.begin(with: sessions.makeCode()))
    let used = try #require(try sessions.begin(with: sessions.makeCode()))
    clock.advance(by: .seconds(20 * 86_400))
    #expect(sessions.isValid(used))
    clock.advance(by: .seconds(11 * 86_400))
    #expect(!sessions.isValid(idle))
    #expect(sessions.isValid(used))
    for _ in 0..<32 { _ = try sessions.begin(with: sessions.makeCode()) }
    #expect(!sessions.isValid(used))
  }

  @Test("a file that others can read is refused")
  func readable() throws {
    _ = FileManager.default.createFile(
      atPath: file, contents: Data("{}".utf8), attributes: [.posixPermissions: 0o644])
    #expect(throws: TransferError.self) { try sessions() }
  }
}

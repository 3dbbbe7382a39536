import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// The password of the page, and tokens with a scope.
@Suite struct AccessListTests {
  private let directory = FileManager.default.temporaryDirectory
    .appending(path: "haul-access-\(UUID().uuidString)").path
  private var file: String { "\(directory)/access" }

  init() throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
  }

  private func end() { try? FileManager.default.removeItem(atPath: directory) }  // scratch

  private func text() throws -> String { try String(contentsOfFile: file, encoding: .utf8) }

  private func setMode(_ mode: Int) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
  }

  @Test func `a password is in the file as a hash only, for its owner`() throws {
    defer { end() }
    let password = Array("canary horse".utf8)
    let access = try AccessList(file: file)
    #expect(access.password == nil)
    try access.setPassword(try PasswordHash(password))
    let reader = try AccessList(file: file)
    let stored = try #require(reader.password)
    #expect(try stored.matches(password))
    for wrong in [
      "canary hors", "canary horsE", "canary horse ", "", String(repeating: "x", count: 300),
    ] {
      #expect(try !stored.matches(Array(wrong.utf8)), "\(wrong)")
    }
    #expect(try !text().contains("canary"))
    let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
    #expect(mode as? Int == 0o600)
    let again = try PasswordHash(password)
    #expect(again.salt != stored.salt && again != stored)
    try access.setPassword(nil)
    #expect(reader.password == nil)
  }

  @Test func `a hash that would cost more than this program allows is not computed`() throws {
    defer { end() }
    let access = try AccessList(file: file)
    try access.setPassword(try PasswordHash(Array("password".utf8)))
    let before = try text()
    let changed = before.replacing("\"rounds\":32768", with: "\"rounds\":1073741824")
    try #require(changed != before)
    try Data(changed.utf8).write(to: URL(filePath: file))
    try setMode(0o600)
    let stored = try #require(access.password)
    #expect(throws: TransferError.self) { try stored.matches(Array("password".utf8)) }
  }

  @Test func `a token has its scope until it is removed, also for who has read the file before`()
    throws
  {
    defer { end() }
    let (daemon, command) = (try AccessList(file: file), try AccessList(file: file))
    let read = try command.add("script", .read, at: 1)
    let metrics = try command.add("prometheus", .metrics, at: 2)
    #expect(daemon.scope(of: read) == .read && daemon.scope(of: metrics) == .metrics)
    for wrong in [
      "", "haul_", read.uppercased(), String(read.dropLast()), read + "0",
      String(read.dropFirst(5)), String(read.dropLast()) + (read.hasSuffix("0") ? "1" : "0"),
    ] {
      #expect(daemon.scope(of: wrong) == nil, "\(wrong)")
    }
    #expect(try !text().contains(read.dropFirst(5)))
    let error = #expect(throws: TransferError.self) { try daemon.add("script", .control, at: 3) }
    #expect(error?.code == .nameConflict)
    #expect(try command.remove("script") && !command.remove("script"))
    #expect(daemon.scope(of: read) == nil && daemon.scope(of: metrics) == .metrics)
    #expect(daemon.tokens.map(\.name) == ["prometheus"])
  }

  @Test func `there are not more tokens than the limit`() throws {
    defer { end() }
    let access = try AccessList(file: file)
    for number in 0..<AccessList.maximumTokens { _ = try access.add("\(number)", .read, at: 0) }
    let error = #expect(throws: TransferError.self) { try access.add("more", .read, at: 0) }
    #expect(error?.code == .refused)
  }

  @Test func `a file that others can read, or that is damaged, gives nobody access`() throws {
    defer { end() }
    let access = try AccessList(file: file)
    let token = try access.add("script", .control, at: 0)
    try setMode(0o644)
    #expect(access.scope(of: token) == nil)
    let error = #expect(throws: TransferError.self) { try AccessList(file: file) }
    #expect(error?.code == .permissionDenied)
    try setMode(0o600)
    #expect(access.scope(of: token) == .control)
    try Data("{".utf8).write(to: URL(filePath: file))
    try setMode(0o600)
    #expect(access.scope(of: token) == nil)
    #expect(throws: TransferError.self) { try access.add("more", .read, at: 0) }
    #expect(try text() == "{", "it is not replaced")
  }

  @Test(arguments: [
    ("GET", "/api/v1/status", true, false), ("GET", "/metrics", true, true),
    ("HEAD", "/metrics", true, false), ("GET", "/metrics/", true, false),
    ("GET", "/", true, false), ("POST", "/metrics", false, false),
    ("POST", "/api/v1/transfers", false, false), ("PATCH", "/api/v1/queue", false, false),
    ("DELETE", "/api/v1/sessions/x", false, false), ("PUT", "/", false, false),
    ("get", "/api/v1/status", false, false), ("OPTIONS", "/metrics", false, false),
  ])
  func `a scope allows reading only, or the metrics only`(
    method: String, path: String, isRead: Bool, isMetrics: Bool
  ) {
    #expect(AccessScope.read.allows(method, path) == isRead)
    #expect(AccessScope.metrics.allows(method, path) == isMetrics)
    #expect(AccessScope.control.allows(method, path))
  }
}

import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// Runs commands of a daemon in a workplace.
protocol DaemonUser: Sendable {
  var work: CommandFixture { get }
  var environment: [String: String] { get }
}

extension DaemonUser {
  @discardableResult
  func haul(_ arguments: String...) async throws -> CommandResult {
    try await work.haul(arguments, environment: environment)
  }

  /// Starts a command that runs beside the others.
  func begin(_ arguments: String...) async throws -> CommandRun {
    try await CommandRun(arguments, in: work.directory, environment: environment)
  }

  /// Runs the daemon with these options; returns when it answers.
  func serve(_ options: String...) async throws -> CommandRun { try await serve(options) }

  func serve(_ options: [String]) async throws -> CommandRun {
    let run = try await CommandRun(
      ["serve"] + options, in: work.directory, environment: environment)
    while try await haul("daemon", "status").status != 0 {}
    return run
  }

  /// Adds a path of the server; its id.
  func add(_ path: String, _ options: String...) async throws -> String {
    let result = try await work.haul(
      ["add", work.server.url(path), "-x", "1"] + options, environment: environment)
    #expect(result.status == 0, "\(result.errors)")
    return result.output.trimmingCharacters(in: .newlines)
  }
}

/// A workplace with a daemon's state directory of its own. The daemon is stopped at the end.
struct DaemonFixture: DaemonUser {
  let work: CommandFixture

  static func with(
    _ resources: FaultScript.Resource..., body: (DaemonFixture) async throws -> Void
  ) async throws {
    try await with(resources, body: body)
  }

  static func with(
    _ resources: [FaultScript.Resource], body: (DaemonFixture) async throws -> Void
  ) async throws {
    try await CommandFixture.with(resources) { work in
      let fixture = DaemonFixture(work: work)
      do {
        try await body(fixture)
        try await fixture.end()
      } catch {
        try await fixture.end()
        throw error
      }
    }
  }

  var state: String { work.path("s") }
  var environment: [String: String] { ["XDG_STATE_HOME": state] }

  /// Replaces the certificate and the key that `pairOptions` name.
  func write(_ pair: (certificate: String, key: String)) throws {
    try write(pair.certificate, to: "c.pem", permissions: 0o644)
    try write(pair.key, to: "k.pem")
  }

  var pairOptions: [String] { ["--tls-cert", work.path("c.pem"), "--tls-key", work.path("k.pem")] }

  func location() throws -> ControlLocation { try ControlLocation(directory: "\(state)/haul") }

  /// Adds in a terminal of its own, which is closed then; the id.
  func addInTerminal(_ path: String) async throws -> String {
    let command = "'\(CommandRun.executable.path)' add '\(work.server.url(path))' -x 1"
    let run = try await CommandRun(
      ["-qefc", command, "/dev/null"], in: work.directory, environment: environment,
      program: "/usr/bin/script")
    let result = await run.end()
    #expect(result.status == 0, "\(result.output)")
    let words = result.output.split { $0.isWhitespace }
    return try #require(words.last.map(String.init))
  }

  func state(of id: String) async throws -> TransferDocument {
    try await ControlClient.with(try location()) { try await $0.transfer(id) }
  }

  /// The process of the daemon.
  func pid() async throws -> Int32 {
    try await ControlClient.with(try location()) { try await $0.status().pid }
  }

  func end() async throws {
    guard FileManager.default.fileExists(atPath: try location().socket) else { return }
    _ = try await haul("daemon", "stop")
  }
}

import Foundation
import HaulTesting
import Testing

/// Secrets.
@Suite(.timeLimit(.minutes(20))) struct SecretRuns {
  /// How a run ends: a column of the table.
  enum Outcome: CaseIterable {
    case completed, unauthorized, missing, refused, untrusted, redirected, redirectRefused
    case mismatch, reset, interrupted

    var fault: Fault? {
      switch self {
      case .unauthorized: Fault(.status(401, headers: ["WWW-Authenticate: Basic realm=\"x\""]))
      case .missing: Fault(.status(404))
      case .reset: Fault(.reset(after: 0))
      case .redirectRefused: Fault(.redirect(location: "file:///etc/passwd"))
      case .interrupted: Fault(.stall(after: 1 << 20))
      case .completed, .refused, .untrusted, .redirected, .mismatch: nil
      }
    }

    var status: Int32 {
      switch self {
      case .completed, .redirected: 0
      case .interrupted: 130
      default: 1
      }
    }

    /// Whether the server for which the secret is gets a request.
    var isSent: Bool { self != .refused && self != .untrusted }
  }

  /// They mostly wait for retries; all at once would cause timeouts.
  private static let gate = AsyncSemaphore(6)

  private static let views = [["-v"], ["--json", "-v"], ["--json"], []]

  @Test(arguments: Outcome.allCases, SecretFixture.all)
  func `No secret is in an output, a log, a file name or the journal, however the run ends`(
    outcome: Outcome, secret: SecretFixture
  ) async throws {
    if secret.excluded.contains(outcome) { return }
    try await Self.gate.run { try await check(outcome, secret) }
  }

  private func check(_ outcome: Outcome, _ secret: SecretFixture) async throws {
    try await withFaultServer(
      FaultScript([CommandFixture.file()]), tls: outcome == .untrusted ? .selfSigned : .none
    ) { other in
      try await CommandFixture.with(CommandFixture.file()) { fixture in
        var faults = [outcome.fault].compactMap(\.self)
        if outcome == .redirected {
          faults = [Fault(.redirect(location: other.url("/file.bin")))]
        }
        fixture.server.setFaults("/file.bin", faults)
        for view in Self.views {
          try await run(outcome, secret, view, fixture, other)
        }
        let foreign = other.snapshot.requests.flatMap { [$0.target] + $0.headerLines }.joined()
        if outcome == .redirected {
          #expect(!other.snapshot.requests.isEmpty)
          try expectNone(secret, [("request to another origin", foreign)])
        }
        // Otherwise the table would prove nothing.
        guard let sent = secret.sent, outcome.isSent else { return }
        let requests = fixture.server.snapshot.requests
        #expect(!requests.isEmpty)
        #expect(
          requests.allSatisfy {
            ([$0.target] + $0.headerLines).contains { $0.contains(sent) }
          })
      }
    }
  }

  private func run(
    _ outcome: Outcome, _ secret: SecretFixture, _ view: [String], _ fixture: CommandFixture,
    _ other: FaultServer
  ) async throws {
    let address =
      switch outcome {
      case .refused: "http://127.0.0.1:1/file.bin"
      case .untrusted: other.url("/file.bin")
      default: fixture.server.url("/file.bin")
      }
    var command = SecretFixture.Command(
      address: address, server: "127.0.0.1:\(fixture.server.port)")
    command.options = view + ["-x", "1", "--retries", "1", "--start-over"]
    if outcome == .mismatch {
      command.options += ["--checksum", "sha-256=" + String(repeating: "0", count: 64)]
    }
    secret.plant(&command)
    for (name, text) in command.files {
      let isMade = FileManager.default.createFile(
        atPath: fixture.path(name), contents: Data(text.utf8),
        attributes: [.posixPermissions: 0o600])
      #expect(isMade)
    }
    let before = fixture.server.snapshot.requests.count
    let running = try await CommandRun(
      ["get", command.address] + command.options, in: fixture.directory,
      environment: command.environment)
    if outcome == .interrupted {
      try await fixture.server.waitForHeld("/file.bin")
      if view.contains("--json") { try await running.reach(bytes: 1 << 20) }
      running.send(SIGINT)
    }
    let result = await running.end()
    #expect(result.status == outcome.status, "\(result.errors)")
    if outcome.isSent { #expect(fixture.server.snapshot.requests.count > before) }
    try expectNone(secret, [("output", result.output), ("errors", result.errors)])
    try expectNone(secret, try traces(in: fixture, besides: Set(command.files.keys)))
  }

  /// Every name in the directory, and the contents of the journals. The file itself is the
  /// server's, and random.
  private func traces(
    in fixture: CommandFixture, besides planted: Set<String> = []
  ) throws -> [(String, String)] {
    var texts: [(String, String)] = []
    let all = FileManager.default.enumerator(atPath: fixture.directory)?.compactMap {
      $0 as? String
    }
    for name in all ?? [] where !planted.contains(name) {
      texts.append(("name", name))
      guard name.hasSuffix(".journal") else { continue }
      texts.append((name, String(decoding: try fixture.contents(name), as: UTF8.self)))
    }
    return texts
  }

  private func expectNone(
    _ secret: SecretFixture, _ texts: [(String, String)],
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    for (what, text) in texts {
      for canary in secret.canaries {
        #expect(
          !text.contains(canary), "\(canary) in \(what): \(text.prefix(2000))",
          sourceLocation: sourceLocation)
      }
    }
  }

  @Test(arguments: [
    ["get", "canary-user:canary-password@h/x?canary-query"],
    ["get", "ftp://canary-user:canary-password@h/x?canary-query"],
    ["get", "http://h/x", "-H", "canary-header"],
    ["get", "http://h/x", "-H", "X-Api-Key: canary-header\nX: y"],
    ["get", "http://canary-user:canary-password@h:99999/?canary-query"],
  ])
  func `No secret is in the message about an unreadable address or field`(arguments: [String])
    async throws
  {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let result = try await fixture.haul(arguments)
      #expect(result.status == 2)
      #expect(result.failures.count == 1, "\(result.errors)")
      let secret = SecretFixture("", ["canary"], sent: nil) { _ in }
      try expectNone(secret, [("output", result.output), ("errors", result.errors)])
      try expectNone(secret, try traces(in: fixture))
    }
  }
}

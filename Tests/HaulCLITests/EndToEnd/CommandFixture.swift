import Foundation
import HaulCore
import HaulTesting
import Testing

/// A fault server, and an empty directory in which the program runs.
struct CommandFixture: Sendable {
  let server: FaultServer
  let directory: String

  static let seed: UInt64 = 7
  static let length: Int64 = 3 << 20
  /// Where a response stops that is to hold its transfer: before the end of the smallest piece, so
  /// that no piece is complete, and others cannot fetch the rest piece by piece.
  static let stallOffset: Int64 = 32 << 10

  /// `/file.bin`, as in every test, with these faults.
  static func file(
    _ path: String = "/file.bin", length: Int64 = length, _ faults: Fault...
  ) -> FaultScript.Resource {
    FaultScript.Resource(path, seed: seed, length: length, faults: faults)
  }

  static func with<Value>(
    _ resources: FaultScript.Resource..., tls: FaultServerTLS = .none,
    _ body: (CommandFixture) async throws -> Value
  ) async throws -> Value {
    try await with(resources, tls: tls, body)
  }

  static func with<Value>(
    _ resources: [FaultScript.Resource], tls: FaultServerTLS = .none,
    _ body: (CommandFixture) async throws -> Value
  ) async throws -> Value {
    try await withFaultServer(FaultScript(resources), tls: tls) { server in
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "haul-run-\(UUID().uuidString)").resolvingSymlinksInPath().path
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      // Files that a test leaves in the temporary directory are no failure.
      defer { try? FileManager.default.removeItem(atPath: directory) }
      return try await body(CommandFixture(server: server, directory: directory))
    }
  }

  /// Starts `haul get` for a path of the server, with one connection by default.
  func start(
    _ path: String = "/file.bin", _ options: String..., standardOutput: FileHandle? = nil
  ) async throws -> CommandRun {
    try await CommandRun(
      ["get", server.url(path), "-x", "1"] + options, in: directory,
      standardOutput: standardOutput)
  }

  /// Runs `haul get --json` for a path of the server to its end.
  func get(_ path: String = "/file.bin", _ options: String...) async throws -> CommandResult {
    try await haul(["get", "--json", server.url(path), "-x", "1"] + options)
  }

  /// Runs any command to its end.
  func haul(_ arguments: [String], environment: [String: String] = [:]) async throws
    -> CommandResult
  {
    try await CommandRun(arguments, in: directory, environment: environment).end()
  }

  /// Leaves the first MiB of `/file.bin` in its part file, as an interrupted run does.
  func interrupt(_ options: [String] = [], with signal: Int32 = SIGINT) async throws
    -> CommandResult
  {
    server.setFaults("/file.bin", [Fault(.stall(after: 1 << 20))])
    let arguments = ["get", "--json", server.url("/file.bin"), "-x", "1"] + options
    let run = try await CommandRun(arguments, in: directory)
    try await run.reach(bytes: 1 << 20)
    run.send(signal)
    let result = await run.end()
    server.setFaults("/file.bin", [])
    return result
  }

  /// Checks that the same command resumes from the bytes that `interrupt` left.
  func expectGoesOn(
    _ options: [String] = [], as name: String = "file.bin",
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let arguments = ["get", "--json", server.url("/file.bin"), "-x", "1"] + options
    let result = try await haul(arguments)
    #expect(result.status == 0, "\(result.errors)", sourceLocation: sourceLocation)
    let end = try #require(
      try result.events(sourceLocation: sourceLocation).finished.first,
      sourceLocation: sourceLocation)
    #expect(end["reused"] == .integer(1 << 20), sourceLocation: sourceLocation)
    try expectWhole(name, sourceLocation: sourceLocation)
  }

  func path(_ name: String) -> String { "\(directory)/\(name)" }

  func contents(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(filePath: path(name))))
  }

  /// The names in the directory, sorted.
  func names(_ below: String = ".") throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path(below)).sorted()
  }

  /// Checks that the file equals the server's, byte for byte.
  func expectWhole(
    _ name: String = "file.bin", length: Int64 = length, seed: UInt64 = seed,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let bytes = try contents(name)
    #expect(bytes.count == Int(length), sourceLocation: sourceLocation)
    #expect(SeededContent.matches(seed: seed, bytes), sourceLocation: sourceLocation)
  }
}

extension [JSONValue] {
  func of(_ type: String) -> [JSONValue] { filter { $0["type"]?.string == type } }
  var types: [String] { compactMap { $0["type"]?.string } }
  var finished: [JSONValue] { of("finished") }
  /// The codes of the failed transfers.
  var codes: [String] { finished.compactMap { $0["error"]?["code"]?.string } }
}

extension CommandResult {
  /// Checks for exit status 1, the code, valid JSON and exactly one line about the failure.
  func expectFailed(
    _ code: TransferError.Code, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(status == 1, "\(errors)", sourceLocation: sourceLocation)
    let codes = try events(sourceLocation: sourceLocation).codes
    #expect(codes == [code.rawValue], "\(errors)", sourceLocation: sourceLocation)
    let retries = errorLines.filter { $0.contains("failed; retrying ") }
    let others = errorLines.filter { !retries.contains($0) && !$0.contains(": started") }
    #expect(others.count == 1, "\(errors)", sourceLocation: sourceLocation)
    #expect(
      (retries + others).allSatisfy { $0.hasPrefix("haul: http") }, "\(errors)",
      sourceLocation: sourceLocation)
  }
}

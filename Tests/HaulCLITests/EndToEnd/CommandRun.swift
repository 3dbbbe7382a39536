import Foundation
import HaulTesting
import Testing

/// The result of a run of the real program.
struct CommandResult: Sendable {
  /// The exit status; 128 plus the number of the signal if a signal ended it.
  let status: Int32
  let output: String
  let errors: String

  /// The objects of `--json`, after a check of the whole output against the schema.
  func events(
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> [JSONValue] {
    let violations = try EventSchema().violations(output: output)
    #expect(violations == [], sourceLocation: sourceLocation)
    return try output.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
  }

  var errorLines: [String] { errors.split(separator: "\n").map(String.init) }

  /// The lines that report failures.
  var failures: [String] { errorLines.filter { $0.hasPrefix("haul: ") } }
}

/// A running program. A thread for each output reads it, so that no full pipe blocks the program.
final class CommandRun {
  private enum Piece: Sendable {
    case output(Data)
    case errors(Data)
    case closed
    case exited(Int32)
  }

  private var pieces: AsyncStream<Piece>.Iterator
  private let process: ChildProcess
  private var output = Data()
  private var errors = Data()
  private var status: Int32?
  private var open: Int

  /// Starts `haul` with these arguments.
  /// - Parameters:
  ///   - standardOutput: its standard output, in place of this object.
  ///   - program: another program to start, which may start `haul`.
  init(
    _ arguments: [String], in directory: String, environment: [String: String] = [:],
    standardOutput: FileHandle? = nil, program path: String = CommandRun.executable.path
  ) async throws {
    let (stream, continuation) = AsyncStream.makeStream(of: Piece.self)
    pieces = stream.makeAsyncIterator()
    let (outputPipe, errorPipe) = (Pipe(), Pipe())
    open = standardOutput == nil ? 2 : 1
    let output = standardOutput ?? outputPipe.fileHandleForWriting
    process = try ChildProcess(
      path, arguments, in: directory,
      environment: ["PATH": "/usr/bin:/bin", "HOME": directory].merging(environment) { $1 },
      output: output.fileDescriptor, errors: errorPipe.fileHandleForWriting.fileDescriptor)
    Self.wait(for: process, continuation)
    try outputPipe.fileHandleForWriting.close()
    try errorPipe.fileHandleForWriting.close()
    Self.read(errorPipe) { continuation.yield($0.map(Piece.errors) ?? .closed) }
    if standardOutput == nil {
      Self.read(outputPipe) { continuation.yield($0.map(Piece.output) ?? .closed) }
    }
  }

  /// Kills the program if a test failed before its end.
  deinit { if status == nil { process.send(SIGKILL) } }

  private static func wait(
    for process: ChildProcess, _ pieces: AsyncStream<Piece>.Continuation
  ) {
    Task { pieces.yield(.exited(try await process.waitForExit())) }
  }

  /// The program at `HAUL_PROGRAM`, or the one that was built with the tests.
  static let executable =
    ProcessInfo.processInfo.environment["HAUL_PROGRAM"]
    .map { URL(filePath: $0) } ?? products.appending(path: "haul")

  /// The directory of the programs that were built with the tests.
  static let products: URL = {
    let arguments = CommandLine.arguments
    let own =
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
      ?? arguments.first ?? "."  // without /proc
    return URL(filePath: own).deletingLastPathComponent()
  }()

  private static func read(_ pipe: Pipe, _ take: @escaping @Sendable (Data?) -> Void) {
    let handle = pipe.fileHandleForReading
    Thread.detachNewThread {
      while true {
        let data = handle.availableData
        if data.isEmpty { break }
        take(data)
      }
      take(nil)
    }
  }

  var pid: Int32 { process.pid }

  func send(_ signal: Int32) { process.send(signal) }

  /// Returns when the output so far meets the condition.
  func reach(
    _ what: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ holds: (_ output: String, _ errors: String) throws -> Bool
  ) async throws {
    while try !holds(text(output), text(errors)) {
      guard await step() else {
        Issue.record(
          "it ended before \(what): \(text(output)) \(text(errors))",
          sourceLocation: sourceLocation)
        return
      }
    }
  }

  /// The first group of a match in the errors so far.
  func firstError(matching pattern: Regex<(Substring, Substring)>) -> String? {
    text(errors).firstMatch(of: pattern).map { String($0.output.1) }
  }

  /// Returns when a `progress` line of `--json` has at least so many bytes.
  func reach(bytes: Int64, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    try await reach("\(bytes) bytes were there", sourceLocation: sourceLocation) { output, _ in
      let whole = output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
      guard let last = whole.last(where: { $0.contains(#""progress""#) }) else { return false }
      return (try JSONValue(parsing: String(last))["bytes"]?.double ?? 0) >= Double(bytes)
    }
  }

  /// Waits for the end.
  func end() async -> CommandResult {
    while await step() {}
    return CommandResult(status: status ?? -1, output: text(output), errors: text(errors))
  }

  /// Takes the next piece of output; false at the end.
  private func step() async -> Bool {
    guard status == nil || open > 0, let piece = await pieces.next(isolation: #isolation) else {
      return false
    }
    switch piece {
    case .output(let data): output += data
    case .errors(let data): errors += data
    case .closed: open -= 1
    case .exited(let number): status = number
    }
    return true
  }

  private func text(_ data: Data) -> String { String(decoding: data, as: UTF8.self) }
}

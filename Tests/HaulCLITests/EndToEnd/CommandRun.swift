import Foundation
import HaulTesting
import Testing

/// What a run of the real program came to.
struct CommandResult: Sendable {
  /// The exit status; 128 and the signal's number when a signal ended it.
  let status: Int32
  let output: String
  let errors: String

  /// The objects of `--json`, after the whole output was found to be as the schema says.
  func events(
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> [JSONValue] {
    let violations = try EventSchema().violations(output: output)
    #expect(violations == [], sourceLocation: sourceLocation)
    return try output.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
  }

  var errorLines: [String] { errors.split(separator: "\n").map(String.init) }

  /// The lines that tell failures.
  var failures: [String] { errorLines.filter { $0.hasPrefix("haul: ") } }
}

/// A running program whose outputs are read while it runs: each by a thread of its own, so that
/// neither can fill up and hold it.
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
  ///   - standardOutput: where it writes instead of to this object.
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

  /// Kills the program, when a test failed before it had ended.
  deinit { if status == nil { process.send(SIGKILL) } }

  private static func wait(
    for process: ChildProcess, _ pieces: AsyncStream<Piece>.Continuation
  ) {
    Task { pieces.yield(.exited(try await process.end())) }
  }

  /// The `haul` that was built with the tests, beside them.
  static let executable: URL = {
    let arguments = CommandLine.arguments
    let own =
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
      ?? arguments.first ?? "."  // without /proc
    return URL(filePath: own).deletingLastPathComponent().appending(path: "haul")
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

  /// Returns when the condition holds for what was written so far.
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

  /// Returns when a `progress` line of `--json` tells at least so many bytes.
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

  /// Takes what comes next; false when everything has come.
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

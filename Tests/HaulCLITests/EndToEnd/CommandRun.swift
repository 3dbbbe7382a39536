import Foundation
import HaulTestSupport
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

  private let process = Process()
  private var pieces: AsyncStream<Piece>.Iterator
  private var output = Data()
  private var errors = Data()
  private var status: Int32?
  private var open: Int
  private let pid: Int32

  /// Starts `haul` with these arguments.
  /// - Parameter standardOutput: where it writes instead of to this object.
  init(
    _ arguments: [String], in directory: String, environment: [String: String] = [:],
    standardOutput: FileHandle? = nil
  ) throws {
    let (stream, continuation) = AsyncStream.makeStream(of: Piece.self)
    pieces = stream.makeAsyncIterator()
    process.executableURL = Self.executable
    process.arguments = arguments
    process.currentDirectoryURL = URL(filePath: directory)
    process.environment = ["PATH": "/usr/bin:/bin", "HOME": directory].merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    let (outputPipe, errorPipe) = (Pipe(), Pipe())
    process.standardOutput = standardOutput ?? outputPipe
    process.standardError = errorPipe
    process.terminationHandler = { ended in
      let isSignal = ended.terminationReason == .uncaughtSignal
      continuation.yield(.exited(ended.terminationStatus + (isSignal ? 128 : 0)))
    }
    try process.run()
    pid = process.processIdentifier
    open = 1
    Self.read(errorPipe) { continuation.yield($0.map(Piece.errors) ?? .closed) }
    if standardOutput == nil {
      open = 2
      Self.read(outputPipe) { continuation.yield($0.map(Piece.output) ?? .closed) }
    }
  }

  deinit {
    if status == nil { _ = kill(pid, SIGKILL) }  // a test failed before its program had ended
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

  func send(_ signal: Int32) { _ = kill(pid, signal) }

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

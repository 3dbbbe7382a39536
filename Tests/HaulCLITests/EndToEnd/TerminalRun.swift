import Foundation
import HaulLibC
import HaulTesting
import Testing

/// The real program with a pseudo-terminal as standard output and standard error.
final class TerminalRun {
  private enum Piece: Sendable {
    case bytes([UInt8])
    case closed
    case exited(Int32)
  }

  /// Every byte that was written to the terminal.
  private(set) var bytes: [UInt8] = []
  private let master: Int32
  private var pieces: AsyncStream<Piece>.Iterator
  private let process: ChildProcess
  private var status: Int32?
  private var isOpen = true

  init(
    _ arguments: [String], in directory: String, width: Int = 80, height: Int = 24,
    environment: [String: String] = [:], program path: String = CommandRun.executable.path
  ) async throws {
    let (stream, continuation) = AsyncStream.makeStream(of: Piece.self)
    pieces = stream.makeAsyncIterator()
    var ends: (master: Int32, slave: Int32) = (-1, -1)
    try #require(openpty(&ends.master, &ends.slave, nil, nil, nil) == 0)
    // Other programs that start meanwhile must not keep them open.
    for end in [ends.master, ends.slave] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    master = ends.master
    let slave = ends.slave
    Self.resize(master, width: width, height: height)
    let standard = [
      "PATH": "/usr/bin:/bin", "HOME": directory, "TERM": "xterm", "LANG": "C.UTF-8",
    ]
    process = try ChildProcess(
      path, arguments, in: directory,
      environment: standard.merging(environment) { $1 }, output: slave, errors: slave)
    Self.wait(for: process, continuation)
    Self.read(master, continuation)
    close(slave)
  }

  /// Kills the program if a test failed before its end.
  deinit { if status == nil { process.send(SIGKILL) } }

  private static func wait(
    for process: ChildProcess, _ pieces: AsyncStream<Piece>.Continuation
  ) {
    Task { pieces.yield(.exited(try await process.waitForExit())) }
  }

  /// Reads until the other end is closed everywhere; Linux then returns `EIO`.
  private static func read(_ master: Int32, _ pieces: AsyncStream<Piece>.Continuation) {
    Thread.detachNewThread {
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = systemRead(master, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        pieces.yield(.bytes(Array(buffer.prefix(count))))
      }
      close(master)
      pieces.yield(.closed)
    }
  }

  /// Resizes the terminal and, as the kernel does for a foreground process, sends SIGWINCH.
  func resize(width: Int, height: Int) {
    Self.resize(master, width: width, height: height)
    send(SIGWINCH)
  }

  private static func resize(_ terminal: Int32, width: Int, height: Int) {
    var size = winsize()
    size.ws_col = UInt16(width)
    size.ws_row = UInt16(height)
    _ = ioctl(terminal, UInt(TIOCSWINSZ), &size)
  }

  func send(_ signal: Int32) { process.send(signal) }

  /// Returns when the output so far meets the condition.
  func reach(
    _ what: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ holds: ([UInt8]) throws -> Bool
  ) async throws {
    while try !holds(bytes) {
      guard await step() else {
        Issue.record(
          "it ended before \(what): \(String(decoding: bytes, as: UTF8.self))",
          sourceLocation: sourceLocation)
        return
      }
    }
  }

  /// Waits for the end, and returns the exit status.
  func end() async -> Int32 {
    while await step() {}
    return status ?? -1
  }

  private func step() async -> Bool {
    guard status == nil || isOpen, let piece = await pieces.next(isolation: #isolation) else {
      return false
    }
    switch piece {
    case .bytes(let more): bytes += more
    case .closed: isOpen = false
    case .exited(let number): status = number
    }
    return true
  }
}

/// `read`, which is hidden by the methods with the same name.
private func systemRead(_ descriptor: Int32, _ buffer: inout [UInt8], _ count: Int) -> Int {
  read(descriptor, &buffer, count)
}

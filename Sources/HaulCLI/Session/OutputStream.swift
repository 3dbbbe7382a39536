import Dispatch
import HaulCore
package import HaulKit
import HaulLibC

/// Standard output or error. Writes whole texts, in order, and not on the cooperative threads.
package struct OutputStream: Sendable {
  /// The result of a write.
  package enum Outcome: Hashable, Sendable {
    case written
    /// The reader has closed it.
    case gone
    /// `errno`.
    case failed(Int32)

    /// The exit status of a command that only prints.
    var status: ExitStatus {
      switch self {
      case .written: .completed
      case .gone: .outputGone
      case .failed: .failed
      }
    }
  }

  private let descriptor: Int32
  private let queue: DispatchQueue

  package init(descriptor: Int32) {
    self.descriptor = descriptor
    queue = DispatchQueue(label: "haul.output.\(descriptor)")
  }

  package static let standardOutput = OutputStream(descriptor: STDOUT_FILENO)
  package static let standardError = OutputStream(descriptor: STDERR_FILENO)

  /// Writes all of these bytes of a file.
  package func write(_ chunk: TransferBytes.Chunk) async -> Outcome {
    await OneShot.wait { oneShot in
      queue.async { [descriptor] in
        oneShot.give(chunk.withUnsafeBytes { Self.write($0, to: descriptor) })
      }
    }
  }

  /// Writes all of the text; texts are written in the order of the calls.
  @discardableResult
  package func write(_ text: String) async -> Outcome {
    if text.isEmpty { return .written }
    let bytes = Array(text.utf8)
    return await OneShot.wait { oneShot in
      queue.async { [descriptor] in oneShot.give(Self.write(bytes, to: descriptor)) }
    }
  }

  private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Outcome {
    bytes.withUnsafeBytes { write($0, to: descriptor) }
  }

  private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Outcome {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = systemWrite(descriptor, UnsafeRawBufferPointer(rebasing: rest))
      if count >= 0 {
        rest = rest.dropFirst(count)
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN: waitUntilWritable(descriptor)
      case EPIPE: return .gone
      default: return .failed(errno)
      }
    }
    return .written
  }

  /// Waits until a descriptor that another process has made non-blocking accepts bytes.
  private static func waitUntilWritable(_ descriptor: Int32) {
    var poller = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    _ = poll(&poller, 1, -1)  // on failure, the next write reports why
  }
}

/// `F_SETPIPE_SZ` of fcntl(2), which the C library hides behind `_GNU_SOURCE`.
private let haulSetPipeSize: Int32 = 1031

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  write(descriptor, bytes.baseAddress, bytes.count)
}

/// What commands print.
extension OutputStream {
  /// - Returns: this status, unless the text cannot be written.
  static func show(_ text: String, then status: ExitStatus = .completed) async -> ExitStatus {
    let outcome = await standardOutput.write(text)
    return outcome == .written ? status : outcome.status
  }

  /// Prints a line for the user, which begins with the program's name.
  static func warn(_ message: String) async {
    await standardError.write(Messages.usage(message) + "\n")
  }

  static func fail(_ message: String, with status: ExitStatus = .failed) async -> ExitStatus {
    await warn(message)
    return status
  }

  static func fail(_ error: any Error) async -> ExitStatus {
    await fail("\(error)", with: error is UsageError ? .usage : .failed)
  }
}

extension OutputStream {
  var isTerminal: Bool { isatty(descriptor) == 1 }

  var isFile: Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// Whether this process is in the terminal's foreground; true if that is unknown.
  var isForeground: Bool {
    let group = tcgetpgrp(descriptor)
    return group == -1 || group == getpgrp()
  }

  /// The terminal's width and height in cells; nil if it is not a terminal or has no size.
  var terminalSize: (width: Int, height: Int)? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return (Int(size.ws_col), size.ws_row > 0 ? Int(size.ws_row) : 24)
  }

  /// Enlarges a pipe as far as allowed, so that writer and reader switch less often.
  func widenPipe() {
    #if canImport(Glibc)
      _ = fcntl(descriptor, haulSetPipeSize, 1 << 20)  // only works for a pipe
    #endif
  }

  /// Fills closed standard descriptors, so that the file of a transfer does not get such a number
  /// and receive messages. Writing to the filler fails, as to a closed descriptor.
  static func occupyClosedDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }
}

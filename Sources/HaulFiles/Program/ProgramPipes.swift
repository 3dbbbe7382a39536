#if canImport(Glibc)
  import CHaulSystem
  import Glibc
  import HaulCore
  import NIOConcurrencyHelpers

  /// The pipes between this process and the one that becomes a program.
  struct Pipes {
    struct Ends {
      let reading: Descriptor
      let writing: Descriptor

      init() throws(TransferError) {
        var ends: [Int32] = [-1, -1]
        guard haul_pipe(&ends) == 0 else { throw .noDescriptor() }
        (reading, writing) = (Descriptor(ends[0]), Descriptor(ends[1]))
      }
    }

    let gate: Ends
    let report: Ends
    let output: Ends
    let errors: Ends
    private let input: Descriptor

    init() throws(TransferError) {
      (gate, report, output, errors) = (try Ends(), try Ends(), try Ends(), try Ends())
      let number = open("/dev/null", O_RDONLY | O_CLOEXEC)
      guard number != -1 else { throw .noDescriptor() }
      input = Descriptor(number)
    }

    /// The pid of the new process, or -1 and the error.
    func fork(
      _ paths: CStrings.List, _ arguments: CStrings.List, _ environment: CStrings.List,
      in directory: String?
    ) -> (pid: Int32, error: Int32) {
      let path = directory.flatMap { strdup($0) }
      defer { free(path) }
      var program = haul_program(
        paths: UnsafeRawPointer(paths).assumingMemoryBound(to: UnsafePointer<CChar>?.self),
        arguments: arguments, environment: environment, directory: path,
        input: input.number, output: output.writing.number, errors: errors.writing.number,
        gate: gate.reading.number, report: report.writing.number)
      let pid = haul_fork_program(&program)
      return (pid, errno)
    }
  }

  /// One output of a program, read as it arrives; only the last part is kept.
  struct ProgramOutput {
    private(set) var tail = ByteTail()
    private let file: Descriptor
    private var isOpen = true
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    init(_ file: Descriptor) { self.file = file }

    /// The descriptor for `poll`, which skips -1.
    var number: Int32 { isOpen ? file.number : -1 }

    /// Reads once.
    mutating func read() {
      let count = Glibc.read(file.number, &buffer, buffer.count)
      if count > 0 {
        tail.append(buffer.prefix(count))
      } else if count == 0 || errno != EINTR && errno != EAGAIN {
        isOpen = false
      }
    }

    private static let maximumReads = 16

    /// Reads the rest in the pipe without waiting, because a process that left the group may keep
    /// it open.
    mutating func readRest() {
      for _ in 0..<Self.maximumReads {
        var watched = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        guard isOpen, poll(&watched, 1, 0) > 0 else { return }
        read()
      }
    }
  }

  extension TransferError {
    fileprivate static func noDescriptor() -> TransferError {
      TransferError(
        .io,
        "cannot start a program: \(SystemError.text(errno))", advice: "too many files are open")
    }
  }
#endif

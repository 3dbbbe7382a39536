#if canImport(Glibc)
  import CHaulSystem
  import Glibc
  import HaulCore
  import NIOConcurrencyHelpers
  import NIOPosix

  /// A forked process that is, or will become, a program.
  final class LinuxProgram: ProgramProcess {
    let identity: ProcessIdentity
    private let command: ProgramCommand
    private let report: Descriptor
    private let output: Descriptor
    private let errors: Descriptor
    private let onOutput: @Sendable (ByteTail) -> Void
    private let state: NIOLockedValueBox<State>

    private struct State {
      /// The program starts when a byte is written to it. Both ends stay open here, so that the
      /// pipe always has a reader.
      var gate: Pipes.Ends?
      /// Whether its pid may have been reused.
      var isReaped = false
    }

    init(
      _ command: ProgramCommand, paths: [String], environment: [String],
      onOutput: @escaping @Sendable (ByteTail) -> Void
    ) throws(TransferError) {
      (self.command, self.onOutput) = (command, onOutput)
      let ends = try Self.fork(command, paths, environment)
      (report, output, errors) = (ends.report, ends.output, ends.errors)
      state = NIOLockedValueBox(State(gate: ends.gate))
      let answer = Self.read(report)
      identity = ProcessIdentity(
        pid: ends.pid, start: ProcessTable.entry(ends.pid)?.start ?? 0,
        boot: PlatformCalls.bootID() ?? "")
      guard let answer, answer.stage == 0 else {
        abandon()
        throw .cannotRun(command.name, answer?.error ?? EIO)
      }
    }

    private struct ParentEnds {
      let pid: Int32
      let gate: Pipes.Ends
      let report, output, errors: Descriptor
    }

    /// When this returns, only the other process has the other ends.
    private static func fork(
      _ command: ProgramCommand, _ paths: [String], _ environment: [String]
    ) throws(TransferError) -> ParentEnds {
      let pipes = try Pipes()
      let child = CStrings.with(paths) { paths in
        CStrings.with(command.arguments) { arguments in
          CStrings.with(environment) { pipes.fork(paths, arguments, $0, in: command.directory) }
        }
      }
      guard child.pid > 0 else { throw .cannotRun(command.name, child.error) }
      return ParentEnds(
        pid: child.pid, gate: pipes.gate, report: pipes.report.reading,
        output: pipes.output.reading, errors: pipes.errors.reading)
    }

    func begin() throws(TransferError) {
      state.withLockedValue { state in
        // An empty pipe has room for a byte.
        if let gate = state.gate { _ = write(gate.writing.number, [1], 1) }
        state.gate = nil
      }
      // No report means that the process has become the program.
      guard let failure = Self.read(report) else { return }
      _ = reap()
      throw .cannotRun(
        command.name, failure.error,
        in: Int(failure.stage) == HAUL_ENTERING_DIRECTORY ? command.directory : nil)
    }

    func abandon() {
      state.withLockedValue { $0.gate = nil }
      _ = reap()
    }

    func send(_ signal: ProgramSignal) {
      state.withLockedValue { state in
        guard !state.isReaped else { return }
        signal.send(to: -identity.pid)
      }
    }

    func waitForExit() async -> ProgramEnd {
      let thread = NIOThreadPool(numberOfThreads: 1)
      thread.start()
      let end = await OneShot.wait { oneShot in
        thread.submit { _ in oneShot.give(self.watch()) }
      }
      // Called once.
      try? await thread.shutdownGracefully()
      return end
    }

    /// Reads the output until the process has ended; then no process of its group remains.
    private func watch() -> ProgramEnd {
      var tails = [ProgramOutput(output), ProgramOutput(errors)]
      let handle = haul_pidfd_open(identity.pid)
      defer { if handle != -1 { _ = close(handle) } }
      var hasEnded = false
      while !hasEnded {
        var watched = [pollfd(fd: handle, events: Int16(POLLIN), revents: 0)]
        watched += tails.map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
        // Without pidfds, the process is polled.
        _ = poll(&watched, nfds_t(watched.count), handle == -1 ? 50 : -1)
        for index in tails.indices where watched[index + 1].revents != 0 { tails[index].read() }
        if watched[1].revents != 0 { onOutput(tails[0].tail) }
        hasEnded =
          handle == -1 ? haul_has_ended(identity.pid) != 0 : watched[0].revents != 0
      }
      // If the kernel keeps no status, the pid may already be reused.
      if haul_has_ended(identity.pid) == 1 { endGroup() }
      let status = reap()
      for index in tails.indices { tails[index].readRest() }
      onOutput(tails[0].tail)
      return ProgramEnd(status: status, output: tails[0].tail, errors: tails[1].tail)
    }

    private static let maximumWaits = 20

    /// Its pid is not reused until it is reaped. After a second, processes that Haul may not end
    /// are left.
    private func endGroup() {
      let leader = identity.pid
      for _ in 0..<Self.maximumWaits {
        ProgramSignal.kill.send(to: -leader)
        let isOver = ProcessTable.waitForEnd {
          let rest = ProcessTable.led(by: leader).map(\.pid).filter { $0 != leader }
          for pid in rest { ProgramSignal.kill.send(to: pid) }
          return rest
        }
        if isOver { return }
      }
    }

    private func reap() -> ProgramEnd.Status {
      var status: Int32 = 0
      // Outside the lock: this may take a moment, and a signal must not wait for it.
      while haul_has_ended(identity.pid) == 0 { _ = ProcessTable.waitForEnd { [identity.pid] } }
      return state.withLockedValue { state in
        state.isReaped = true
        var found: Int32
        repeat { found = waitpid(identity.pid, &status, 0) } while found == -1 && errno == EINTR
        guard found == identity.pid else { return .unknown }
        let signal = status & 0x7F
        return signal == 0 ? .exited((status >> 8) & 0xFF) : .signalled(signal)
      }
    }

    /// Nil if the pipe closes without a report.
    private static func read(_ report: Descriptor) -> haul_report? {
      var found = haul_report()
      let size = MemoryLayout<haul_report>.size
      var count: Int
      repeat { count = Glibc.read(report.number, &found, size) } while count == -1 && errno == EINTR
      return count == size ? found : nil
    }
  }

  extension TransferError {
    /// - Parameter directory: the directory that could not be entered.
    fileprivate static func cannotRun(
      _ name: String, _ error: Int32, in directory: String? = nil
    ) -> TransferError {
      let location = directory.map { " in \(Printable.text($0))" } ?? ""
      let reason = "cannot run \(name)\(location): \(SystemError.text(error))"
      switch error {
      case ENOENT where directory == nil:
        return TransferError(.io, reason, advice: "check its name and that it is installed")
      case EACCES, EPERM:
        return TransferError(.permissionDenied, reason, advice: "check that you may run it")
      case ENOEXEC:
        return TransferError(
          .io, reason, advice: "a script must begin with #! and its interpreter")
      default: return TransferError(.io, reason)
      }
    }
  }
#endif

#if canImport(Glibc)
  import FoundationEssentials
  import Glibc
  package import HaulCore

  /// Runs programs with `fork` and `execve`. A port rewrites this file.
  package struct LinuxPrograms: Programs {
    private let environment: [String: String]
    private let onOutput: @Sendable (ByteTail) -> Void

    /// - Parameters:
    ///   - environment: the environment of programs; the password that Haul reads from it is
    ///     removed.
    ///   - onOutput: gets the last bytes of standard output each time that there are more, and at
    ///     the end.
    package init(
      environment: [String: String] = ProcessInfo.processInfo.environment,
      onOutput: @escaping @Sendable (ByteTail) -> Void = { _ in }
    ) {
      self.onOutput = onOutput
      self.environment = environment.filter { $0.key != "HAUL_PASSWORD" }
    }

    /// Identifies a process whose group leader has ended.
    static let transferIDVariable = "HAUL_TRANSFER_ID"

    package func prepare(
      _ command: ProgramCommand
    ) throws(TransferError) -> any ProgramProcess {
      guard let word = command.arguments.first, !word.isEmpty else {
        throw TransferError(
          .io, "cannot run a program without a name", advice: "give its name or its path")
      }
      guard
        !(command.arguments + [command.directory ?? ""]).contains(where: { $0.utf8.contains(0) })
      else {
        throw TransferError(
          .io,
          "cannot run \(command.name): an argument contains U+0000, which no argument may contain")
      }
      var variables = environment
      variables[Self.transferIDVariable] = "\(command.id)"
      return try LinuxProgram(
        command, paths: paths(of: word), environment: variables.map { "\($0.key)=\($0.value)" },
        onOutput: onOutput)
    }

    /// The paths to try for a program, as in `execvp`.
    private func paths(of word: String) -> [String] {
      guard !word.hasBytes("/") else { return [word] }
      let search = environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
      return search.byteSplit(separator: ":", omittingEmptySubsequences: false)
        .map { $0.isEmpty ? "./\(word)" : "\($0)/\(word)" }
    }

    package func send(_ signal: ProgramSignal, to program: StoredProcess) {
      for pid in ProcessTable.rest(of: program) { signal.send(to: pid) }
    }

    package func isGone(_ program: StoredProcess) -> Bool {
      ProcessTable.waitForEnd { ProcessTable.rest(of: program) }
    }
  }

  extension ProgramSignal {
    /// - Parameter pid: negative for a group. A signal to an ended process has no effect.
    func send(to pid: Int32) {
      switch self {
      case .terminate:
        Glibc.kill(pid, SIGTERM)
        // A stopped process receives it only when it continues.
        Glibc.kill(pid, SIGCONT)
      case .kill: Glibc.kill(pid, SIGKILL)
      }
    }
  }
#endif

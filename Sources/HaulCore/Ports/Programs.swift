/// Identifies a process among all processes of this machine, also after a reboot; a pid may be used
/// again.
public struct ProcessIdentity: Sendable, Hashable {
  /// Its pid, which is also the number of its group and its session.
  public var pid: Int32
  /// Its start, in clock ticks since the boot.
  public var start: UInt64
  /// Distinguishes boots of the machine.
  public var boot: String

  /// An identity of these parts.
  public init(pid: Int32, start: UInt64, boot: String) {
    self.pid = pid
    self.start = start
    self.boot = boot
  }
}

/// A program to run, without a shell.
package struct ProgramCommand: Sendable, Hashable {
  /// The member of the queue. The program finds it in `HAUL_TRANSFER_ID`.
  package var id: TransferID
  /// The program and its arguments.
  package var arguments: [String]
  /// Nil for the working directory of this process.
  package var directory: String?

  package init(id: TransferID, arguments: [String], directory: String? = nil) {
    self.id = id
    self.arguments = arguments
    self.directory = directory
  }

  /// The name for messages. Arguments are never shown, because they may be secret.
  package var name: String { Self.name(of: arguments) }

  package static func name(of arguments: [String]) -> String {
    let path = arguments.first ?? ""
    return TerminalText.escaped(path.lastPathName ?? path)
  }
}

/// A signal for a process group.
package enum ProgramSignal: Sendable, Hashable {
  case terminate, kill
}

/// How a program ended.
package struct ProgramEnd: Sendable, Hashable {
  package enum Status: Sendable, Hashable {
    case exited(Int32)
    case signalled(Int32)
    /// Another part of this process collected its status.
    case unknown
  }

  package var status: Status
  /// The last bytes of its standard output.
  package var output: ByteTail
  /// The last bytes of its standard error.
  package var errors: ByteTail

  package init(status: Status, output: ByteTail = ByteTail(), errors: ByteTail = ByteTail()) {
    self.status = status
    self.output = output
    self.errors = errors
  }
}

/// Runs programs on this machine. Calls except `ProgramProcess.waitForExit()` may block their
/// thread for a moment.
package protocol Programs: Sendable {
  /// Creates the process of a program, in its own group, which waits for `begin` before the first
  /// instruction of the program. If this process dies before that, it ends by itself.
  /// - Throws: `io`.
  func prepare(_ command: ProgramCommand) throws(TransferError) -> any ProgramProcess
  /// Signals what remains of a program that an earlier process of Haul ran.
  func send(_ signal: ProgramSignal, to program: StoredProcess)
  /// Whether nothing of it remains. Waits a moment for that.
  func isGone(_ program: StoredProcess) -> Bool
}

/// A prepared process. Either `abandon`, or `begin` and then `waitForExit` is called, once.
package protocol ProgramProcess: Sendable {
  var identity: ProcessIdentity { get }
  /// Runs the program.
  /// - Throws: `io`, `permission-denied` if it cannot be run; nothing of the process remains then.
  func begin() throws(TransferError)
  /// Ends the process before it has run anything.
  func abandon()
  /// Signals the whole group; has no effect after its end.
  func send(_ signal: ProgramSignal)
  /// Waits for its end, and ends the processes of its group that remain.
  func waitForExit() async -> ProgramEnd
}

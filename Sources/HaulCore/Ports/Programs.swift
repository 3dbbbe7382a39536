/// A process, told apart from every other one of this machine, also after a restart: a number alone
/// may be another's by then.
public struct ProcessIdentity: Sendable, Hashable {
  /// Its number, and that of its group and its session.
  public var pid: Int32
  /// When it began, in clock ticks since the machine did.
  public var start: UInt64
  /// Which run of the machine that was.
  public var boot: String

  /// An identity of these parts.
  public init(pid: Int32, start: UInt64, boot: String) {
    self.pid = pid
    self.start = start
    self.boot = boot
  }
}

/// What is run, without a shell.
package struct ProgramCommand: Sendable, Hashable {
  /// For which member of the queue. The program finds it in `HAUL_TRANSFER_ID`.
  package var id: TransferID
  /// The program and its arguments.
  package var words: [String]
  /// Nil: where this process is.
  package var directory: String?

  package init(id: TransferID, words: [String], directory: String? = nil) {
    self.id = id
    self.words = words
    self.directory = directory
  }

  /// What a person calls it. Arguments are never told: they may be anything.
  package var name: String { Self.name(of: words) }

  package static func name(of words: [String]) -> String {
    let path = words.first ?? ""
    return TerminalText.escaped(path.split(separator: "/").last.map(String.init) ?? path)
  }
}

/// What a process group is told.
package enum ProgramSignal: Sendable, Hashable {
  case terminate, kill
}

/// How a program ended.
package struct ProgramEnd: Sendable, Hashable {
  package enum Status: Sendable, Hashable {
    case exited(Int32)
    case signalled(Int32)
    /// Somebody else has taken its status.
    case unknown
  }

  package var status: Status
  /// The last that it wrote on its standard output.
  package var output: ByteTail
  /// The last that it wrote on its standard error.
  package var errors: ByteTail

  package init(status: Status, output: ByteTail = ByteTail(), errors: ByteTail = ByteTail()) {
    self.status = status
    self.output = output
    self.errors = errors
  }
}

/// Runs programs on this machine. Calls may block their thread for a moment, but for
/// `ProgramProcess.end()`.
package protocol Programs: Sendable {
  /// Makes the process of a program, in a group of its own, which waits for `begin` before the
  /// program's first instruction. It ends by itself when this process does before that.
  /// - Throws: `io`.
  func prepare(_ command: ProgramCommand) throws(TransferError) -> any ProgramProcess
  /// Tells what is left of a program that an earlier process of ours ran.
  func send(_ signal: ProgramSignal, to program: StoredProgram)
  /// Whether nothing is left of it. Waits a moment for that.
  func isGone(_ program: StoredProgram) -> Bool
}

/// A process that was prepared. Either `abandon`, or `begin` and then `end` is called, once.
package protocol ProgramProcess: Sendable {
  var identity: ProcessIdentity { get }
  /// Runs the program.
  /// - Throws: `io`, `permission-denied` when it cannot be run; nothing is left of the process
  ///   then.
  func begin() throws(TransferError)
  /// Ends the process, which has run nothing.
  func abandon()
  /// Tells the whole group; nothing once it has ended.
  func send(_ signal: ProgramSignal)
  /// Waits for its end, and ends what it leaves of its group.
  func end() async -> ProgramEnd
}

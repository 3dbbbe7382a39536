import HaulFiles
import HaulLibC
import NIOPosix

/// A program that a test runs. It gets only the given descriptors, default signals, and an empty
/// standard input.
///
/// Swift's Subprocess library is not used: the thread sanitizer does not know its lock.
package struct ChildProcess: Sendable {
  package struct NotStarted: Error, Sendable {
    package let reason: String
  }

  package let pid: Int32

  /// - Parameters:
  ///   - environment: the whole environment, except the variables of sanitizers and coverage.
  ///   - output, errors: descriptors of this process, which stay open here.
  package init(
    _ program: String, _ arguments: [String], in directory: String? = nil,
    environment: [String: String], output: Int32, errors: Int32
  ) throws {
    let environment = environment.merging(Self.instruments) { given, _ in given }
    let command = [program] + arguments
    pid = try CStrings.with(command) { arguments in
      try CStrings.with(environment) { environment in
        try Self.spawn(program, arguments, environment, directory, output, errors)
      }
    }
  }

  package func send(_ signal: Int32) { _ = kill(pid, signal) }

  /// Waits for the end. Returns the exit status, or 128 plus the number of the signal that ended
  /// it. Call it once.
  package func waitForExit() async throws -> Int32 {
    let thread = NIOThreadPool(numberOfThreads: 1)
    thread.start()
    let status = try await thread.runIfActive { [pid] in
      var status: Int32 = 0
      while waitpid(pid, &status, 0) == -1 && errno == EINTR {}
      return status
    }
    try await thread.shutdownGracefully()
    let signal = status & 0x7F
    return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
  }

  /// Variables that are passed on, so that a program's coverage profile is kept and sanitizer
  /// reports do not go to its output.
  private static let instruments: [String: String] = {
    let names = ["LLVM_PROFILE_FILE", "ASAN_OPTIONS", "TSAN_OPTIONS"]
    return names.reduce(into: [:]) { found, name in
      if let value = getenv(name) { found[name] = String(cString: value) }
    }
  }()

  private static func spawn(
    _ program: String, _ arguments: CStrings.List, _ environment: CStrings.List,
    _ directory: String?, _ output: Int32, _ errors: Int32
  ) throws -> Int32 {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    posix_spawn_file_actions_adddup2(&actions, errors, 2)
    try addCloseFrom(&actions, 3)
    if let directory { try addChangeDirectory(&actions, directory) }

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF))

    var pid: pid_t = 0
    let failure = posix_spawn(&pid, program, &actions, &attributes, arguments, environment)
    guard failure == 0 else {
      throw NotStarted(reason: "\(program): \(String(cString: strerror(failure)))")
    }
    return pid
  }

  // Swift's module of the C library lacks these two functions.

  private typealias Actions = UnsafeMutablePointer<posix_spawn_file_actions_t>

  private static func addCloseFrom(_ actions: Actions, _ first: Int32) throws {
    typealias Call = @convention(c) (Actions, Int32) -> Int32
    let call = unsafeBitCast(try symbol("posix_spawn_file_actions_addclosefrom_np"), to: Call.self)
    guard call(actions, first) == 0 else { throw NotStarted(reason: "no memory") }
  }

  private static func addChangeDirectory(_ actions: Actions, _ directory: String) throws {
    typealias Call = @convention(c) (Actions, UnsafePointer<CChar>) -> Int32
    let call = unsafeBitCast(try symbol("posix_spawn_file_actions_addchdir_np"), to: Call.self)
    guard call(actions, directory) == 0 else { throw NotStarted(reason: "no memory") }
  }

  private static func symbol(_ name: String) throws -> UnsafeMutableRawPointer {
    guard let symbol = dlsym(nil, name) else { throw NotStarted(reason: "there is no \(name)") }
    return symbol
  }
}

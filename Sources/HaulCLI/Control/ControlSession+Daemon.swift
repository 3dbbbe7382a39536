import CHaulSystem
import FoundationEssentials
import HaulControl
import HaulCore
import HaulFiles
import HaulLibC

/// Starts the daemon as a process of its own session, which outlives the terminal.
extension ControlSession {
  /// How long it may take until the socket answers: a list of a million takes seconds to open.
  private static let timeout: Duration = .seconds(30)
  /// The length of a log, in bytes, from which a new one is begun.
  private static let longLog = 16 << 20

  /// Starts the daemon unless one answers, and says so.
  func startIfNeeded(quiet: Bool = false) async throws {
    let (daemon, isNew) = try await ensureRunning()
    guard isNew, !quiet else { return }
    await OutputStream.warn(
      "started the daemon (pid \(daemon.pid)); stop it with: haul daemon stop")
  }

  /// Starts the daemon unless one answers.
  /// - Returns: its status, and whether this call started it.
  /// - Throws: `UsageError` with what the user can do.
  func ensureRunning() async throws -> (status: StatusDocument, isNew: Bool) {
    if let status = try await status() { return (status, false) }
    try prepareDirectory()
    let clock = context.clock
    let deadline = clock.now + Self.timeout
    var nextSpawn = clock.now
    var pause: Duration = .seconds(1)
    var child: pid_t?
    var failures = 0
    while clock.now < deadline {
      if let pid = child, case let status = haul_exit_status(pid), status >= 0 {
        // Only a list that is in use becomes free. It may have become free meanwhile, so one more
        // start is tried.
        if !location.isListInUse { failures += 1 }
        guard status != ExitStatus.usage.rawValue, failures < 2 else {
          throw UsageError("the daemon cannot start; \(logTail)")
        }
        child = nil
      }
      if child == nil, clock.now >= nextSpawn {
        // The list may still be locked by a daemon that is ending; then the new one ends too.
        child = startUnit() ? nil : try spawn()
        nextSpawn = clock.now + pause
        pause *= 2
      }
      if let status = try await status() { return (status, true) }
      try await clock.sleep(until: clock.now + .milliseconds(20))
    }
    throw UsageError("the daemon does not answer; \(logTail)")
  }

  /// What its log ends with: mostly why it could not start.
  private var logTail: String {
    let text = try? String(contentsOfFile: location.log, encoding: .utf8)
    guard let line = text?.byteSplit(separator: "\n").last else {
      return "its log is \(location.log)"
    }
    return "its log \(location.log) ends with: \(TerminalText.escaped(String(line)))"
  }

  /// The status; nil when no daemon answers. One that is ending may close the connection.
  private func status() async throws -> StatusDocument? {
    do {
      return try await client.status()
    } catch .notRunning, .broken {
      return nil
    }
  }

  /// Through the unit of systemd, if the user has enabled it. It has the usual state directory.
  private func startUnit() -> Bool {
    guard let runtime = context.environment["XDG_RUNTIME_DIR"],
      let home = context.environment["HOME"],
      location.directory == "\(home)/.local/state/haul", access("\(runtime)/systemd", F_OK) == 0
    else { return false }
    return systemctl("is-enabled", "--quiet") && systemctl("start")
  }

  private func systemctl(_ command: String...) -> Bool {
    CStrings.with(["systemctl", "--user"] + command + ["haul.service"]) { arguments in
      CStrings.with(ProgramEnvironment.allowed(of: context.environment)) { variables in
        haul_run_quietly(arguments, variables) == 0
      }
    }
  }

  /// By spawn, never by fork: other threads may hold locks.
  private func spawn() throws(UsageError) -> pid_t {
    shortenLog()
    var child: pid_t = 0
    let code = CStrings.with([context.executable, "serve"]) { arguments in
      CStrings.with(ProgramEnvironment.ofDaemon(context.environment)) { variables in
        haul_spawn_daemon(context.executable, location.log, arguments, variables, &child)
      }
    }
    guard code == 0 else {
      throw UsageError("cannot start the daemon: \(SystemError.text(code))")
    }
    return child
  }

  /// The log of earlier daemons, if it is long, becomes the old log.
  private func shortenLog() {
    var status = stat()
    guard lstat(location.log, &status) == 0, status.st_size > Self.longLog else { return }
    // If this fails, the log grows.
    rename(location.log, "\(location.log).old")
  }

  /// The log needs the directory before the daemon itself creates it.
  private func prepareDirectory() throws(UsageError) {
    try UsageError.checked(location.prepareDirectory())
    try UsageError.checked(location.checkSocket())
  }

  /// Whether there is such a process, which is not only waiting for its parent.
  static func isRunning(_ pid: Int32) -> Bool {
    guard kill(pid, 0) == 0 || errno == EPERM else { return false }
    // A process stays a zombie if its parent does not wait for it.
    let status = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
    return status?.byteSplit(separator: ")").last?.hasBytePrefix(" Z") != true
  }
}

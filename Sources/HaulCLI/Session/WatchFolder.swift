import Crypto
import FoundationEssentials
import HaulControl
import HaulCore
import HaulFiles
import HaulLibC
import Logging

/// Adds the lists that are dropped into a directory, and moves them to `done` or `failed` below it.
struct WatchFolder: Sendable {
  private static let pause: Duration = .seconds(1)
  /// The longest list, in bytes.
  private static let longest: Int64 = 64 << 20

  let directory: String
  /// Where its downloads go, unless a list says otherwise.
  let destination: String
  let location: ControlLocation
  let context: ProcessContext
  let failed: FailedLists
  let logger: Logger

  /// Why a list is not added.
  private struct Refusal: Error {
    let reason: String
  }

  private enum Outcome {
    case handled
    /// It is tried again; why, if its owner can do something.
    case later(String?)
  }

  /// Looks every second, until the task is cancelled.
  func run() async {
    var files = DroppedFiles()
    var (lastProblem, lastDelay) = (String?.none, String?.none)
    while (try? await context.clock.sleep(until: context.clock.now + Self.pause)) != nil {
      do throws(Refusal) {
        let present = try present()
        for name in files.ready(present, at: context.clock.now) {
          guard let version = present[name] else { continue }
          switch await take(name, version) {
          case .handled:
            files.handled(name)
            lastDelay = nil
          case .later(nil): break
          case .later(let reason):
            if reason != lastDelay { logger.error("watch: \(reason ?? ""); it is tried again") }
            lastDelay = reason
          }
        }
        lastProblem = nil
      } catch {
        // A directory that is away for a night is one line.
        if error.reason != lastProblem { logger.error("watch: \(error.reason)") }
        lastProblem = error.reason
      }
    }
  }

  /// The files that are there, without following links.
  private func present() throws(Refusal) -> [String: DroppedFiles.Version] {
    var status = stat()
    guard stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw Refusal(reason: "there is no directory \(directory)")
    }
    if let problem = ReplaceablePath.problem(of: directory) {
      throw Refusal(
        reason: "\(directory) is not yours alone to write to (\(problem)): choose another")
    }
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else {
      throw Refusal(reason: "\(directory) cannot be read")
    }
    var found: [String: DroppedFiles.Version] = [:]
    for name in names { found[name] = version(of: name) }
    return found
  }

  /// Nil for a directory, and for what is not there.
  private func version(of name: String) -> DroppedFiles.Version? {
    var status = stat()
    guard lstat("\(directory)/\(name)", &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
      return nil
    }
    // Only a file without content waits for some.
    let isFile = status.st_mode & S_IFMT == S_IFREG
    return DroppedFiles.Version(
      device: UInt64(status.st_dev), inode: UInt64(status.st_ino),
      size: isFile ? Int64(status.st_size) : 1,
      modified: Self.nanoseconds(status.st_mtim), changed: Self.nanoseconds(status.st_ctim))
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }

  private func take(_ name: String, _ version: DroppedFiles.Version) async -> Outcome {
    let shown = TerminalText.escaped(name)
    do {
      // A program that still has it open has not finished it, however long it pauses.
      guard try !isBeingWritten("\(directory)/\(name)") else { return .later(nil) }
      let count = try await add(name, version)
      // What was written meanwhile is another version, of which only the new ones are added.
      guard self.version(of: name) == version else { return .later(nil) }
      move(name, to: "done", reason: nil)
      logger.info("watch: \(shown): \(Units.count(count)) in the list")
      return .handled
    } catch ControlClient.Failure.notRunning, ControlClient.Failure.broken {
      return .later(nil)
    } catch ControlClient.Failure.refused(let problem) where problem.status >= 500 {
      return .later("\(shown): \(TerminalText.escaped(problem.detail))")
    } catch {
      // The list may have been removed since it was found.
      guard self.version(of: name) != nil else { return .handled }
      let reason = Self.reason(error)
      let path = move(name, to: "failed", reason: reason)
      failed.report(
        .failed(
          list: name, path: path ?? "\(directory)/\(name)", reason: reason,
          time: context.clock.wallSeconds))
      logger.error("watch: \(shown): \(TerminalText.escaped(reason))")
      return .handled
    }
  }

  private static func reason(_ error: any Error) -> String {
    switch error {
    case let refusal as Refusal: refusal.reason
    case let usage as UsageError: usage.message
    case ControlClient.Failure.refused(let problem): problem.detail
    default: (error as? TransferError)?.message ?? "\(error)"
    }
  }

  /// Whether a program has it open for writing.
  /// - Throws: for a link, a pipe and what another user has written: they are no lists.
  private func isBeingWritten(_ path: String) throws(Refusal) -> Bool {
    let file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else {
      throw Refusal(
        reason: errno == ELOOP
          ? "it is a link" : "it cannot be read: \(SystemError.text(errno))")
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw Refusal(reason: "it is no regular file")
    }
    guard status.st_uid == geteuid() else { throw Refusal(reason: "it belongs to another user") }
    guard status.st_mode & 0o022 == 0 else {
      throw Refusal(reason: "others can write to it; run: chmod go-w")
    }
    guard status.st_size <= Self.longest else {
      throw Refusal(reason: "it has more than \(Units.bytes(Self.longest))")
    }
    return FileLease.isOpenForWriting(file)
  }

  /// Adds what `haul add -i` would. The same file is added once, also if the daemon dies before it
  /// is moved: its version is the name of the call.
  private func add(_ name: String, _ version: DroppedFiles.Version) async throws -> Int {
    var sources = CommandSources.process()
    sources.askPassword = { (_) throws(UsageError) in nil }
    let arguments = ["add", "-i", "\(directory)/\(name)"]
    guard let plan = try Invocation.plan(arguments, from: sources) as? AddPlan else {
      throw Refusal(reason: "a server must be asked for it first: use haul add -i")
    }
    // Not by -d: rules and the directory of haul.conf come before it.
    let new = try WorkingDirectory.resolve(plan.requests, in: destination).map { request in
      var request = request
      request.download?.creationMask = context.creationMask
      return try NewTransfer(request)
    }
    guard !new.isEmpty else { throw Refusal(reason: "it has no address") }
    let text = "\(name)\0\(version.device) \(version.inode) \(version.size) \(version.modified)"
    let digest = SHA256.hash(data: Data(text.utf8)).prefix(16)
    let key = "watch-" + digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    try await ControlClient.with(location) { client in
      for start in stride(from: 0, to: new.count, by: AddBody.maximumCount) {
        let part = Array(new[start..<min(start + AddBody.maximumCount, new.count)])
        _ = try await client.add(
          AddBody(transfers: part, findsSame: true), key: "\(key)-\(start)")
      }
    }
    return new.count
  }

  /// Moves it, under a new name if there is one of its name, and writes why it was not added.
  /// - Returns: its path; nil if it stays there.
  @discardableResult
  private func move(_ name: String, to place: String, reason: String?) -> String? {
    let parent = "\(directory)/\(place)"
    mkdir(parent, 0o700)
    var (path, number, status) = ("\(parent)/\(name)", 1, stat())
    while lstat(path, &status) == 0 {
      number += 1
      path = "\(parent)/\(name).\(number)"
    }
    guard rename("\(directory)/\(name)", path) == 0 else {
      logger.error(
        "watch: \(TerminalText.escaped(name)) stays there: \(SystemError.text(errno))")
      return nil
    }
    guard let reason else { return path }
    do throws(TransferError) {
      try StateFile(path: "\(path).reason").write("\(TerminalText.escaped(reason))\n".utf8)
    } catch {
      logger.error("watch: \(error.message)")
    }
    return path
  }
}

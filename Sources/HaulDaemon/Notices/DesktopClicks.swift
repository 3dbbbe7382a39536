import CHaulSystem
package import HaulControl
package import HaulCore
import HaulFiles
package import HaulKit
import HaulLibC
package import Logging

/// Shows notices that can be clicked: a `notify-send` for each of the newest ones waits for that.
package actor DesktopClicks {
  private let environment: [String: String]
  private let io: BlockingIO
  private let clock: any TransferClock
  private let logger: Logger
  /// Oldest first.
  private var waiting: [Task<Void, Never>] = []

  /// The most programs that wait, and for how long each. A notice stays on the screen without its
  /// program, but a click on it does nothing.
  package static let limit = 8
  private static let patience: Duration = .seconds(600)

  package init(
    _ environment: [String: String], io: BlockingIO, clock: any TransferClock, logger: Logger
  ) {
    (self.environment, self.io, self.clock, self.logger) = (environment, io, clock, logger)
  }

  private enum Step: Sendable {
    case shown, refused, late
    case failed(NoticeOutbox.Failure)
  }

  /// Returns when the notice is shown; its program waits for a click beside that.
  /// - Parameter program: `notify-send`, with the arguments of a clickable `DesktopMessage`.
  /// - Returns: false if the program did not say in time whether it is shown.
  package func show(
    _ notice: Notice, _ program: NoticeProgram
  ) async throws(NoticeOutbox.Failure) -> Bool {
    if waiting.count >= Self.limit { await Self.end([waiting.removeFirst()]) }
    let (steps, step) = AsyncStream.makeStream(of: Step.self)
    let task = Task {
      do throws(NoticeOutbox.Failure) {
        let output = try await program.run(about: notice, within: Self.patience) { output in
          guard let isShown = DesktopMessage.Output(output).isShown else { return }
          step.yield(isShown ? .shown : .refused)
        }
        let end = DesktopMessage.Output(output)
        guard end.isShown != false else {
          throw NoticeOutbox.Failure("the desktop has refused the notice")
        }
        step.yield(.shown)
        if end.isClicked { await open(notice) }
      } catch {
        step.yield(.failed(error))
      }
      step.finish()
    }
    waiting.append(task)
    let timer = Task {
      // Ends early when the notice is shown.
      guard (try? await clock.sleep(until: clock.now + NoticeProgram.deadline)) != nil else {
        return
      }
      step.yield(.late)
    }
    defer { timer.cancel() }
    let outcome = await withTaskCancellationHandler {
      await Self.outcome(of: steps, task)
    } onCancel: {
      task.cancel()
    }
    return try outcome.get()
  }

  /// Whether it is shown. Ends the program if not.
  private static func outcome(
    of steps: AsyncStream<Step>, _ task: Task<Void, Never>
  ) async -> Result<Bool, NoticeOutbox.Failure> {
    for await step in steps {
      switch step {
      case .shown: return .success(true)
      // It waits all the same; its end says why.
      case .refused: task.cancel()
      case .late:
        await end([task])
        return .success(false)
      case .failed(let failure): return .failure(failure)
      }
    }
    return .failure(NoticeOutbox.Failure("the daemon ends"))
  }

  /// Ends all programs that wait.
  package func close() async {
    let tasks = waiting
    waiting = []
    await Self.end(tasks)
  }

  private static func end(_ tasks: [Task<Void, Never>]) async {
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
  }

  /// Opens the directory of a completed file; for any other end the page, which has the reason.
  private func open(_ notice: Notice) async {
    let failure =
      if let folder = Self.folder(of: notice) { await open(folder) } else {
        await openPage(about: notice)
      }
    if let failure, !Task.isCancelled {
      logger.warning("notices: desktop: a click opens nothing: \(failure)")
    }
  }

  private func openPage(about notice: Notice) async -> String? {
    // The process that runs this path is a copy of this one, so it is this very program.
    let page = NoticeProgram(
      ["/proc/self/exe", "ui"], name: "haul ui", environment: environment, io: io, clock: clock)
    do throws(NoticeOutbox.Failure) {
      try await page.run(about: notice)
      return nil
    } catch {
      // What it prints has a code that opens the page.
      return "haul ui did not open the page"
    }
  }

  private func open(_ folder: String) async -> String? {
    do throws(TransferError) {
      try await io.run { [environment] () throws(TransferError) in
        try Self.run(folder, environment)
      }
      return nil
    } catch {
      return error.message
    }
  }

  /// An absolute path, so that no option begins with it.
  package static func folder(of notice: Notice) -> String? {
    guard notice.state == .completed, let path = notice.path, path.isAbsolutePath else {
      return nil
    }
    return path.pathParts.directory
  }

  /// Does not wait for `xdg-open`, which may last as long as the window. It is no child of this
  /// process, and stays when the daemon ends.
  private static func run(
    _ folder: String, _ environment: [String: String]
  ) throws(TransferError) {
    var found = stat()
    // Anything else may be run by what opens it.
    guard stat(folder, &found) == 0, found.st_mode & S_IFMT == S_IFDIR else {
      throw TransferError(.io, "\(TerminalText.escaped(folder)) is no directory any more")
    }
    let status = CStrings.with(["setsid", "--fork", "xdg-open", folder]) { arguments in
      CStrings.with(environment) { haul_run_quietly(arguments, $0) }
    }
    guard status == 0 else {
      throw TransferError(.io, "cannot run setsid --fork", advice: "check that it is installed")
    }
  }
}

import FoundationEssentials
package import HaulControl
import HaulCore
import HaulKit
import HaulLibC
package import Logging

/// Connects all parts with the process: its arguments, streams and status.
@MainActor
package enum HaulProgram {
  /// Runs the queue of `haul serve` until it is asked to end; throws an error that says what to do.
  package typealias Serve =
    @Sendable (
      ControlLocation, DaemonSettings, @escaping NewSettings.Read,
      _ environment: [String: String], Logger
    ) async throws -> Void

  /// Runs the command line.
  /// - Parameters:
  ///   - arguments: as bytes, without the program's name.
  ///   - stored: reads the list of a daemon that does not run.
  ///   - serve: the daemon; neither is part of this module.
  /// - Returns: the exit status.
  package static func run(
    _ arguments: [[UInt8]], stored: any StoredListReader, serve: @escaping Serve
  ) async -> Int32 {
    Signals.begin(arguments)
    OutputStream.occupyClosedDescriptors()
    let limits = ProcessLimits.ofThisProcess()
    let plan: any CommandPlan
    let words: [String]
    do {
      try ProcessText.checkVariables()
      words = try ProcessText.arguments(arguments)
      plan = try Invocation.plan(words, from: .process())
    } catch {
      let isDaemon = arguments.first == Array("serve".utf8)
      return isDaemon
        ? await DaemonLog(ProcessInfo.processInfo.environment).fail(error).rawValue
        : await OutputStream.fail(error.message, with: .usage).rawValue
    }
    // `verify` prints only on standard error, and ends when nobody reads that.
    if !(plan is VerifyPlan) { signal(SIGPIPE, SIG_IGN) }
    var context = context(limits)
    (context.stored, context.serve, context.arguments) = (stored, serve, words)
    return await plan.run(in: context).rawValue
  }

  private static func context(_ limits: ProcessLimits) -> ProcessContext {
    var context = ProcessContext(
      environment: ProcessInfo.processInfo.environment,
      standardOutputIsTerminal: OutputStream.standardOutput.isTerminal,
      standardErrorIsTerminal: OutputStream.standardError.isTerminal,
      terminalSize: { OutputStream.standardError.terminalSize },
      isForeground: { OutputStream.standardError.isForeground }, clock: SystemClock())
    context.limits = limits
    context.standardErrorIsFile = OutputStream.standardError.isFile
    (context.executable, context.creationMask) = (executable, creationMask)
    return context
  }

  /// The path of this program.
  private static var executable: String {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
      ?? CommandLine.arguments.first ?? "haul"
  }

  /// Read by setting it: no other thread makes files yet.
  private static var creationMask: UInt32 {
    let mask = umask(0)
    umask(mask)
    return UInt32(mask)
  }
}

import FoundationEssentials
package import HaulControl
import HaulCore
package import HaulKit
package import Logging

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The only code that uses the globals of the process; it connects all parts.
@MainActor
package enum HaulProgram {
  /// Runs the queue of `haul serve` until it is asked to end; throws an error that says what to do.
  package typealias Serve =
    @Sendable (
      ControlLocation, TransferManager.Configuration, ServePlan, _ environment: [String: String],
      Logger
    ) async throws -> Void

  /// Runs the command line.
  /// - Parameters:
  ///   - arguments: as bytes, without the program's name.
  ///   - serve: the daemon, which is not part of this module.
  /// - Returns: the exit status.
  package static func run(_ arguments: [[UInt8]], serve: Serve) async -> Int32 {
    Signals.quitAtOnce()
    OutputStream.occupyClosedDescriptors()
    let process = ProcessLimits.ofThisProcess()
    let invocation: Invocation
    do {
      try ProcessText.checkVariables()
      invocation = try Invocation(try ProcessText.arguments(arguments), from: .process())
    } catch {
      await OutputStream.standardError.write(Messages.usage(error.message) + "\n")
      return ExitStatus.usage.rawValue
    }
    switch invocation {
    case .print(let text): return await show(text).rawValue
    case .probe(let plan):
      if let refusal = process.refusal { return await refuse(refusal).rawValue }
      signal(SIGPIPE, SIG_IGN)
      return await ProbeSession(plan: plan, environment: context.environment).run().rawValue
    case .cache(let plan):
      signal(SIGPIPE, SIG_IGN)
      return await CacheSession(plan: plan, context: context).run().rawValue
    case .verify(let plan): return await VerifySession(plan: plan).run().rawValue
    case .control(let plan):
      signal(SIGPIPE, SIG_IGN)
      let session = ControlSession(
        plan: plan, context: context, executable: executable,
        creationMask: creationMask,
        interruptions: plan.isInteractive ? Signals.takeOver().interruptions : nil)
      return await session.run().rawValue
    case .serve(var plan):
      if let refusal = process.refusal { return await refuse(refusal).rawValue }
      // The terminal that started it may be closed.
      signal(SIGHUP, SIG_IGN)
      signal(SIGPIPE, SIG_IGN)
      if let lowered = process.apply(to: &plan.managerOptions) {
        await OutputStream.standardError.write(lowered + "\n")
      }
      return await ServeSession(plan: plan, environment: context.environment)
        .run(serve).rawValue
    case .get(let plan):
      return await run(ForegroundSession(plan, context), within: process).rawValue
    case .put(let plan):
      return await run(ForegroundSession(plan, context), within: process).rawValue
    }
  }

  private static func run(
    _ session: ForegroundSession, within process: ProcessLimits
  ) async -> ExitStatus {
    if let refusal = process.refusal { return await refuse(refusal) }
    var session = session
    let signals = Signals.takeOver()
    if let lowered = process.apply(to: &session.managerOptions), !session.output.quiet {
      await OutputStream.standardError.write(lowered + "\n")
    }
    return await session.run(until: signals.interruptions)
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

  private static var context: ProcessContext {
    ProcessContext(
      environment: ProcessInfo.processInfo.environment,
      standardOutputIsTerminal: OutputStream.standardOutput.isTerminal,
      standardErrorIsTerminal: OutputStream.standardError.isTerminal,
      terminalSize: { OutputStream.standardError.terminalSize },
      isForeground: { OutputStream.standardError.isForeground }, clock: SystemClock())
  }

  private static func refuse(_ line: String) async -> ExitStatus {
    await OutputStream.standardError.write(line + "\n")
    return .failed
  }

  private static func show(_ text: String) async -> ExitStatus {
    let line = text.isEmpty || text.hasByteSuffix("\n") ? text : text + "\n"
    signal(SIGPIPE, SIG_IGN)
    return await OutputStream.standardOutput.write(line).status
  }
}

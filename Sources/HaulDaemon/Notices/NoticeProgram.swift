package import HaulControl
package import HaulCore
import HaulFiles
package import HaulKit

/// Runs a program about a notice: without a shell, in a process group of its own, and not for long.
package struct NoticeProgram: Sendable {
  private let arguments: [String]
  private let environment: [String: String]
  private let io: BlockingIO
  private let clock: any TransferClock

  package static let deadline: Duration = .seconds(30)

  package init(
    _ arguments: [String], environment: [String: String], io: BlockingIO,
    clock: any TransferClock
  ) {
    (self.arguments, self.environment) = (arguments, environment)
    (self.io, self.clock) = (io, clock)
  }

  /// - Throws: when it cannot be run, does not end in time, or ends with another code than 0.
  package func run(about notice: Notice) async throws(NoticeOutbox.Failure) {
    #if canImport(Glibc)
      var generator = SystemRandomNumberGenerator()
      let id = notice.transfer ?? TransferID(using: &generator)
      let command = ProgramCommand(id: id, arguments: arguments)
      let programs = LinuxPrograms(environment: environment)
      do throws(TransferError) {
        let process = try await io.run { () throws(TransferError) in
          let process = try programs.prepare(command)
          try process.begin()
          return process
        }
        if let error = await end(of: process, command.name) { throw error }
      } catch {
        throw NoticeOutbox.Failure(error.message)
      }
    #else
      throw NoticeOutbox.Failure("programs cannot be run on this system")
    #endif
  }

  /// Its error; nil for a success.
  private func end(of process: any ProgramProcess, _ name: String) async -> TransferError? {
    let killing = Task { () -> Bool in
      // Ends early when the program has ended.
      guard (try? await clock.sleep(until: clock.now + Self.deadline)) != nil else { return false }
      process.send(.kill)
      return true
    }
    let end = await withTaskCancellationHandler {
      await process.end()
    } onCancel: {
      process.send(.kill)
    }
    killing.cancel()
    guard await killing.value else { return end.error(name) }
    return TransferError(.timeout, "\(name) did not end within 30 s and was killed")
  }
}

/// The configured command.
struct CommandSender: NoticeSender {
  let arguments: [String]
  let environment: [String: String]
  let io: BlockingIO
  let clock: any TransferClock

  func send(_ notice: Notice) async throws(NoticeOutbox.Failure) {
    let environment = environment.merging(Self.variables(notice)) { $1 }
    try await NoticeProgram(arguments, environment: environment, io: io, clock: clock)
      .run(about: notice)
  }

  /// A variable cannot have a NUL.
  private static func variables(_ notice: Notice) -> [String: String] {
    [
      "HAUL_ID": notice.id, "HAUL_NUMBER": "\(notice.number)", "HAUL_KIND": notice.kind.rawValue,
      "HAUL_STATE": notice.state?.rawValue ?? "",
      "HAUL_TRANSFER": notice.transfer.map { "\($0)" } ?? "", "HAUL_GROUP": notice.group ?? "",
      "HAUL_NAME": notice.name, "HAUL_PATH": notice.path ?? "",
      "HAUL_BYTES": notice.bytes.map { "\($0)" } ?? "",
      "HAUL_ERROR": notice.error?.code.rawValue ?? "",
      "HAUL_ERROR_MESSAGE": notice.error?.message ?? "",
      "HAUL_TITLE": notice.title, "HAUL_TEXT": notice.text,
    ].mapValues { $0.replacing("\0", with: "") }
  }
}

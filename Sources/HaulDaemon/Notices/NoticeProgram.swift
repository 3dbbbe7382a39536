package import HaulControl
package import HaulCore
import HaulFiles
package import HaulKit

/// Runs a program about a notice: without a shell, in a process group of its own, and not for long.
package struct NoticeProgram: Sendable {
  private let arguments: [String]
  /// For messages.
  private let name: String
  private let environment: [String: String]
  private let io: BlockingIO
  private let clock: any TransferClock

  package static let deadline: Duration = .seconds(30)

  package init(
    _ arguments: [String], name: String? = nil, environment: [String: String], io: BlockingIO,
    clock: any TransferClock
  ) {
    (self.arguments, self.environment) = (arguments, environment)
    (self.io, self.clock) = (io, clock)
    self.name = name ?? ProgramCommand.name(of: arguments)
  }

  /// - Parameters:
  ///   - deadline: when it is killed.
  ///   - onOutput: gets the last bytes of standard output, each time that there are more.
  /// - Returns: the last bytes of standard output.
  /// - Throws: when it cannot be run, does not end in time, or ends with another code than 0.
  @discardableResult
  package func run(
    about notice: Notice, within deadline: Duration = Self.deadline,
    onOutput: @escaping @Sendable (ByteTail) -> Void = { _ in }
  ) async throws(NoticeOutbox.Failure) -> ByteTail {
    #if canImport(Glibc)
      var generator = SystemRandomNumberGenerator()
      let id = notice.transfer ?? TransferID(using: &generator)
      let command = ProgramCommand(id: id, arguments: arguments)
      let programs = LinuxPrograms(environment: environment, onOutput: onOutput)
      do throws(TransferError) {
        let process = try await io.run { () throws(TransferError) in
          let process = try programs.prepare(command)
          try process.begin()
          return process
        }
        let (end, hasTimedOut) = await process.end(within: deadline, by: clock)
        if hasTimedOut {
          let time = "\(deadline.components.seconds) s"
          throw TransferError(.timeout, "\(name) did not end within \(time) and was killed")
        }
        if let error = end.error(name) { throw error }
        return end.output
      } catch {
        throw NoticeOutbox.Failure(error.message)
      }
    #else
      throw NoticeOutbox.Failure("programs cannot be run on this system")
    #endif
  }
}

/// The configured command.
struct CommandSender: NoticeSender {
  let arguments: [String]
  let environment: [String: String]
  let io: BlockingIO
  let clock: any TransferClock

  func send(_ notice: Notice) async throws(NoticeOutbox.Failure) {
    let environment = environment.merging(notice.variables) { $1 }
    try await NoticeProgram(arguments, environment: environment, io: io, clock: clock)
      .run(about: notice)
  }
}

extension Notice {
  /// The longest value, in bytes: longer than any path, and far below what the system allows.
  private static let longestVariable = 16 << 10

  /// For the configured command. A variable cannot have a NUL.
  package var variables: [String: String] {
    let unchanged = isUnchanged.map { $0 ? "true" : "false" } ?? ""
    return [
      "HAUL_ID": id, "HAUL_NUMBER": "\(number)", "HAUL_KIND": kind.rawValue,
      "HAUL_STATE": state?.rawValue ?? "", "HAUL_TRANSFER": transfer.map { "\($0)" } ?? "",
      "HAUL_GROUP": group ?? "", "HAUL_NAME": name, "HAUL_PATH": path ?? "",
      "HAUL_BYTES": bytes.map { "\($0)" } ?? "", "HAUL_ERROR": error?.code.rawValue ?? "",
      "HAUL_ERROR_MESSAGE": error?.message ?? "", "HAUL_WARNING": warning ?? "",
      "HAUL_UNCHANGED": unchanged,
      "HAUL_TITLE": title, "HAUL_TEXT": text,
    ].mapValues { value in
      let bytes = value.utf8.lazy.filter { $0 != 0 }.prefix(Self.longestVariable + 1)
      guard bytes.count > Self.longestVariable else {
        return String(decoding: Array(bytes), as: UTF8.self)
      }
      // Not within a character: its other bytes begin with the bits 10.
      var kept = Array(bytes)
      while let last = kept.popLast(), last & 0xC0 == 0x80 {}
      return String(decoding: kept, as: UTF8.self)
    }
  }
}

package import HaulControl
import HaulCore
import HaulKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Shows notices on the desktop, with `notify-send`.
struct DesktopSender: NoticeSender {
  /// The path of `notify-send`.
  let program: String
  let environment: [String: String]
  let hasSound: Bool
  let io: BlockingIO
  let clock: any TransferClock

  /// Nil without a session bus, or without `notify-send` in `PATH`.
  init?(
    _ environment: [String: String], hasSound: Bool, io: BlockingIO, clock: any TransferClock
  ) {
    guard Self.hasSessionBus(environment), let program = Self.program(environment) else {
      return nil
    }
    self.program = program
    // Without a locale it refuses every character beyond ASCII.
    self.environment = environment.merging(["LC_ALL": "C.UTF-8"]) { $1 }
    (self.hasSound, self.io, self.clock) = (hasSound, io, clock)
  }

  private static func hasSessionBus(_ environment: [String: String]) -> Bool {
    if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty { return true }
    guard let directory = environment["XDG_RUNTIME_DIR"], directory.hasPrefix("/") else {
      return false
    }
    return access("\(directory)/bus", F_OK) == 0
  }

  private static func program(_ environment: [String: String]) -> String? {
    (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
      .map { "\($0)/notify-send" }.first { $0.hasPrefix("/") && access($0, X_OK) == 0 }
  }

  func send(_ notice: Notice) async throws(NoticeOutbox.Failure) {
    let arguments = [program] + DesktopMessage(notice, hasSound: hasSound).arguments
    try await NoticeProgram(arguments, environment: environment, io: io, clock: clock)
      .run(about: notice)
  }
}

/// The arguments of `notify-send`.
package struct DesktopMessage: Hashable, Sendable {
  package let arguments: [String]

  package init(_ notice: Notice, hasSound: Bool) {
    let hasFailed = notice.state == .failed || notice.kind == .dropped
    // Names of the Sound Naming Specification and of the Desktop Notifications Specification.
    let sound =
      !hasSound || notice.state == .cancelled
      ? "boolean:suppress-sound:true"
      : "string:sound-name:\(hasFailed ? "dialog-error" : "complete-download")"
    arguments = [
      "--app-name=Haul", "--urgency=\(hasFailed ? "critical" : "normal")",
      "--category=\(hasFailed ? "transfer.error" : "transfer.complete")", "--hint=\(sound)",
      // No option follows, even if the title begins with a dash.
      "--", notice.title, Self.body(notice.text),
    ]
  }

  /// The body is markup, in which `notify-send` reads backslash sequences first.
  private static func body(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\\", with: "\\\\")
  }
}

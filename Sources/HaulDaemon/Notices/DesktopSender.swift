package import HaulControl
package import HaulCore
import HaulKit
import HaulLibC
import Logging
import NIOConcurrencyHelpers

/// Shows notices on the desktop, with `notify-send`.
struct DesktopSender: NoticeSender {
  /// The path of `notify-send`.
  let program: String
  let environment: [String: String]
  let hasSound: Bool
  private let io: BlockingIO
  private let clock: any TransferClock
  private let clicks: DesktopClicks
  /// Whether a notice can be clicked; nil before the first one.
  private let isClickable = NIOLockedValueBox<Bool?>(nil)

  /// Nil without a session bus, or without `notify-send` in `PATH`.
  init?(
    _ environment: [String: String], hasSound: Bool, io: BlockingIO, clock: any TransferClock,
    logger: Logger
  ) {
    guard Self.hasSessionBus(environment),
      let program = Self.path(of: "notify-send", environment)
    else { return nil }
    self.program = program
    // Without a locale it refuses every character beyond ASCII.
    self.environment = environment.merging(["LC_ALL": "C.UTF-8"]) { $1 }
    (self.hasSound, self.io, self.clock) = (hasSound, io, clock)
    clicks = DesktopClicks(environment, io: io, clock: clock, logger: logger)
    // Without a screen or `xdg-open`, a click would open nothing.
    let hasScreen = ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
    if !hasScreen || Self.path(of: "xdg-open", environment) == nil {
      isClickable.withLockedValue { $0 = false }
    }
  }

  private static func hasSessionBus(_ environment: [String: String]) -> Bool {
    if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty { return true }
    guard let directory = environment["XDG_RUNTIME_DIR"], directory.isAbsolutePath else {
      return false
    }
    return access("\(directory)/bus", F_OK) == 0
  }

  private static func path(of program: String, _ environment: [String: String]) -> String? {
    (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").byteSplit(separator: ":")
      .map { "\($0)/\(program)" }.first { $0.isAbsolutePath && access($0, X_OK) == 0 }
  }

  func send(_ notice: Notice) async throws(NoticeOutbox.Failure) {
    if await isClickable(notice) {
      let message = DesktopMessage(notice, hasSound: hasSound, isClickable: true)
      if try await clicks.show(notice, run(message.arguments, isLineByLine: true)) { return }
      isClickable.withLockedValue { $0 = false }
    }
    let message = DesktopMessage(notice, hasSound: hasSound)
    try await run(message.arguments).run(about: notice)
  }

  func close() async { await clicks.close() }

  /// - Parameter isLineByLine: version 0.8.1 keeps what it prints in a buffer until its end.
  private func run(_ arguments: [String], isLineByLine: Bool = false) -> NoticeProgram {
    NoticeProgram(
      (isLineByLine ? ["stdbuf", "-oL"] : []) + [program] + arguments, name: "notify-send",
      environment: environment, io: io, clock: clock)
  }

  /// Asks the program once, before the first notice: versions before 0.8 have no actions.
  private func isClickable(_ notice: Notice) async -> Bool {
    if let known = isClickable.withLockedValue({ $0 }) { return known }
    // Without an answer, notices are shown without a click.
    let help = (try? await run(["--help"], isLineByLine: true).run(about: notice)) ?? ByteTail()
    let text = String(decoding: help.bytes, as: UTF8.self)
    let found = ["--action", "--print-id"].allSatisfy(text.contains)
    isClickable.withLockedValue { $0 = found }
    return found
  }
}

/// The arguments of `notify-send`.
package struct DesktopMessage: Hashable, Sendable {
  package let arguments: [String]

  /// - Parameter isClickable: whether it waits for a click. Without a time for that, because the
  ///   desktop would show it for that long too.
  package init(_ notice: Notice, hasSound: Bool, isClickable: Bool = false) {
    let hasFailed =
      notice.state == .failed || notice.kind == .dropped || notice.waiting?.isOver == false
    // Names of the Sound Naming Specification and of the Desktop Notifications Specification.
    let sound =
      !hasSound || notice.state == .cancelled
      ? "boolean:suppress-sound:true"
      : "string:sound-name:\(hasFailed ? "dialog-error" : "complete-download")"
    var arguments = [
      "--app-name=Haul", "--urgency=\(hasFailed ? "critical" : "normal")",
      "--category=\(hasFailed ? "transfer.error" : "transfer.complete")", "--hint=\(sound)",
    ]
    // The name `default` means a click on the notice itself.
    if isClickable { arguments += ["--print-id", "--action=\(Self.click)=Show"] }
    arguments += [
      // No option follows, even if the title begins with a dash.
      "--", notice.title, Self.body(notice.text),
    ]
    self.arguments = arguments
  }

  private static let click = "default"

  /// What `notify-send --print-id --action` has printed so far.
  package struct Output: Hashable, Sendable {
    /// Whether the desktop has accepted the notice; nil if that is not known yet.
    package let isShown: Bool?
    package let isClicked: Bool

    package init(_ output: ByteTail) {
      let lines = String(decoding: output.bytes, as: UTF8.self)
        .byteSplit(separator: "\n", omittingEmptySubsequences: false).dropLast()
      // The id of a notice that was refused is 0.
      isShown = lines.first.flatMap { Int($0) }.map { $0 > 0 }
      isClicked = isShown == true && lines.dropFirst().contains(Substring(DesktopMessage.click))
    }
  }

  /// The body is markup, in which `notify-send` reads backslash sequences first.
  private static func body(_ text: String) -> String {
    text.replacingBytes("&", with: "&amp;").replacingBytes("<", with: "&lt;")
      .replacingBytes(">", with: "&gt;")
      .replacingBytes("\\", with: "\\\\")
  }
}

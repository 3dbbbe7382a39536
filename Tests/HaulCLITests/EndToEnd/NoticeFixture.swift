import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// A daemon whose ends are reported to a fake desktop, a command and a webhook.
struct NoticeFixture: DaemonUser {
  let fixture: DaemonFixture
  let receiver: WebhookReceiver

  static let secret = "canary-webhook-secret"
  static let hook = "/hook/canary-hook"

  static func with(
    _ resources: FaultScript.Resource..., answers: [WebhookReceiver.Answer] = [],
    body: (NoticeFixture) async throws -> Void
  ) async throws {
    try await CommandFixture.with(resources) { (work) async throws in
      let receiver = try WebhookReceiver(answers)
      defer { receiver.close() }
      let notices = NoticeFixture(fixture: DaemonFixture(work: work), receiver: receiver)
      try notices.prepare()
      do {
        try await body(notices)
        try await notices.end()
      } catch {
        try await notices.end()
        throw error
      }
    }
  }

  var work: CommandFixture { fixture.work }
  /// One line for each call: the arguments, or the words and variables, each followed by `|`.
  var desktopLog: String { work.path("desktop.log") }
  var commandLog: String { work.path("command.log") }
  /// What was opened, likewise.
  var openLog: String { work.path("open.log") }
  var configuration: String { work.path(".config/haul/haul.conf") }

  var environment: [String: String] {
    fixture.environment.merging([
      "PATH": "\(work.path("bin")):/usr/bin:/bin", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/none",
      "DISPLAY": ":none",
    ]) { $1 }
  }

  private func prepare() throws {
    for directory in ["bin", ".config/haul"] {
      try FileManager.default.createDirectory(
        atPath: work.path(directory), withIntermediateDirectories: true)
    }
    let words = #"for a in "$@"; do printf '%s|' "$a"; done"#
    try write("bin/notify-send", words, to: desktopLog, before: asked, after: clicked)
    try write("bin/xdg-open", words, to: openLog)
    try write("--urgency --print-id", at: work.path("help"), permissions: 0o644)
    let variables = #""$1" "$HAUL_ID" "$HAUL_STATE" "$HAUL_GROUP" "$HAUL_PATH" "$HAUL_ERROR""#
    try write("on-end", "printf '%s|' \(variables)", to: commandLog)
    try write(Self.secret + "\n", at: work.path("secret"), permissions: 0o600)
    try configure()
  }

  private var asked: String { "[ \"$1\" != --help ] || exec cat '\(work.path("help"))'" }

  /// As version 0.8: it prints the id of the notice, and the name of the action at a click.
  private var clicked: String {
    """
    case "$*" in *--action=*) ;; *) exit 0 ;; esac
    echo 42
    for a in "$@"; do title=$text; text=$a; done
    mkfifo '\(work.path("click-"))'"$title" 2>/dev/null
    read -r answer <'\(work.path("click-"))'"$title" && echo "$answer"
    """
  }

  /// From now on, `notify-send` is a version that has actions.
  func allowClicks() throws {
    try write("--urgency --print-id --action", at: work.path("help"), permissions: 0o644)
  }

  /// Clicks on the notice with this title. Returns when its program has read that.
  func click(_ title: String) async throws {
    let script = #"mkfifo "$1" 2>/dev/null; echo default >"$1""#
    let click = try await CommandRun(
      ["-c", script, "sh", work.path("click-\(title)")], in: work.directory, program: "/bin/sh")
    #expect(await click.end().status == 0)
  }

  private func write(
    _ name: String, _ command: String, to log: String, before: String = "", after: String = ""
  ) throws {
    let script = """
      #!/bin/sh
      \(before)
      line=$(\(command))
      printf '%s\\n' "$line" >>'\(log)'
      \(after)

      """
    try write(script, at: work.path(name), permissions: 0o755)
    try write("", at: log, permissions: 0o644)
  }

  func write(_ text: String, at path: String, permissions: Int) throws {
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
  }

  /// Writes the configuration file, with more lines.
  func configure(_ more: String..., host: String? = nil, isPrivate: Bool = true) throws {
    let text = """
      webhook = http://\(host ?? "127.0.0.1"):\(receiver.port)\(Self.hook)
      webhook-private = \(isPrivate)
      webhook-secret-file = \(work.path("secret"))
      notify-command = \(work.path("on-end"))
      notify-command = two words
      \(more.joined(separator: "\n"))
      """
    try write(text, at: configuration, permissions: 0o644)
  }

  /// The lines of a log, once one of them has this.
  func lines(of log: String, until part: String) async throws -> [[String]] {
    let tail = try await CommandRun(
      ["-n", "+1", "-F", log], in: work.directory, program: "/usr/bin/tail")
    defer { tail.send(SIGKILL) }
    try await tail.reach("\(part) was reported") { output, _ in
      output.split(separator: "\n").contains { $0.contains(part) } && output.hasSuffix("\n")
    }
    return try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
      .map { $0.split(separator: "|", omittingEmptySubsequences: false).map(String.init) }
  }

  func notices() async throws -> NoticePage {
    let call = try SocketCall("GET", "/api/v1/notices", to: try fixture.location().socket)
    return try JSONDecoder().decode(NoticePage.self, from: Data(call.body.utf8))
  }

  func end() async throws { try await fixture.end() }
}

import ArgumentParser
import HaulControl
import HaulCore

struct UICommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "ui", abstract: "Shows the background queue as a web page.",
    discussion: """
      Prints the page's address, which works once, within 60 s, and opens it where there is a \
      desktop. The daemon is started if it is not running. An open page has a session, which \
      lasts until it was not used for 30 days. 'haul ui password' sets the password of the login \
      page, which is there for --listen with TLS and for --public-url.
      """)

  enum Action: String, ExpressibleByArgument, CaseIterable { case password }

  @Argument(
    help: ArgumentHelp(
      "password: ask for a new password of the login page, or read it from standard input.",
      valueName: "action"))
  var action: Action?

  @Flag(help: "With 'password': have none.")
  var remove = false

  @Flag(inversion: .prefixedNo, help: "Open it in the browser of the desktop.")
  var open = true

  @Flag(help: "List the sessions of open pages instead.")
  var sessions = false

  @Option(
    help: ArgumentHelp("End this session instead, or all.", valueName: "SESSION|all"))
  var end: String?

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    guard end == nil || !sessions, end != "" else {
      throw UsageError("give --sessions, or --end with a session or all")
    }
    guard !remove || action != nil else {
      throw UsageError("--remove is for 'haul ui password'")
    }
    guard action == nil else { return PasswordChange.plan(isRemoval: remove, sources) }
    return ControlPlan { session in
      if let end { return try await endSession(end, session.client) }
      return try await sessions ? listSessions(session) : openPage(session)
    }
  }

  private func openPage(_ session: ControlSession) async throws -> ExitStatus {
    let context = session.context
    let (daemon, _) = try await session.ensureRunning()
    for warning in daemon.warnings { await OutputStream.warn(warning) }
    let page = try await session.client.page(withFile: open && context.hasDesktop)
    let status = await OutputStream.show(page.url + "\n")
    if let hint = SSHTunnel.hint(page.url, context.environment) { await OutputStream.warn(hint) }
    if let file = page.file, status == .completed, !Browser.open(file, context.environment) {
      await OutputStream.warn("no browser could be started; open the address yourself")
    }
    return status
  }

  private func listSessions(_ session: ControlSession) async throws -> ExitStatus {
    let sessions = try await session.client.sessions().sessions
    guard !sessions.isEmpty else { return await OutputStream.show("no page has a session\n") }
    let table = TextTable(
      heads: ["SESSION", "BEGUN", "LAST USED", "BROWSER"],
      rows: sessions.map {
        [$0.id, LocalTime.text($0.begun), LocalTime.text($0.used), $0.browser]
      }, flexible: [3], optional: [], rightAligned: [])
    return await OutputStream.show(session.context.fitted(table))
  }

  /// - Parameter name: `all`, or the beginning of an id.
  private func endSession(_ name: String, _ client: ControlClient) async throws -> ExitStatus {
    let ids = try await client.sessions().sessions.map(\.id)
    let chosen = name == "all" ? ids : ids.filter { $0.hasBytePrefix(name) }
    if name != "all", chosen.count != 1 {
      let shown = Messages.shown(name)
      return await OutputStream.fail(
        chosen.isEmpty
          ? "there is no session \(shown); to see all: haul ui --sessions"
          : "\(chosen.count) sessions begin with \(shown); give more of its characters")
    }
    for id in chosen { try await client.endSession(id) }
    return await OutputStream.show(
      "ended \(chosen.count == 1 ? "1 session" : "\(chosen.count) sessions")\n")
  }
}

extension StatusDocument {
  /// What the user can do about ports that pages need, and about a changed file.
  var warnings: [String] {
    takenPorts.map { "another program has port \($0), where a page was open: close that page" }
      + (hasNewConfiguration == true
        ? ["haul.conf has changed since the daemon read it; to use it: haul daemon reload"] : [])
      + ((needsRestart ?? []).isEmpty
        ? []
        : [
          "after haul daemon restart only, haul.conf changes: "
            + (needsRestart ?? []).joined(separator: ", ")
        ])
  }
}

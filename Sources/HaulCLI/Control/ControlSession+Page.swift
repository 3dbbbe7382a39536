import HaulControl
import HaulCore

/// The sessions of the web page.
extension ControlSession {
  static func taken(_ port: Int) -> String {
    "another program has port \(port), where a page was open: close that page"
  }

  func sessions(_ client: ControlClient) async throws -> ExitStatus {
    let sessions = try await client.sessions().sessions
    guard !sessions.isEmpty else { return await show("no page has a session\n") }
    let table = TextTable(
      heads: ["SESSION", "BEGUN", "LAST USED", "BROWSER"],
      rows: sessions.map {
        [$0.id, LocalTime.text($0.begun), LocalTime.text($0.used), $0.browser]
      }, flexible: [3], optional: [], rightAligned: [])
    return await show(
      table.text(
        width: context.standardOutputIsTerminal ? context.size.width : nil,
        mark: context.style.mark))
  }

  /// - Parameter name: `all`, or the beginning of an id.
  func endSession(_ name: String, _ client: ControlClient) async throws -> ExitStatus {
    let ids = try await client.sessions().sessions.map(\.id)
    let chosen = name == "all" ? ids : ids.filter { $0.hasBytePrefix(name) }
    if name != "all", chosen.count != 1 {
      let shown = Messages.shown(name)
      return await fail(
        chosen.isEmpty
          ? "there is no session \(shown); to see all: haul ui --sessions"
          : "\(chosen.count) sessions begin with \(shown); give more of its characters")
    }
    for id in chosen { try await client.endSession(id) }
    return await show("ended \(chosen.count == 1 ? "1 session" : "\(chosen.count) sessions")\n")
  }
}

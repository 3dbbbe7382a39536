import ArgumentParser
import HaulControl
import HaulCore

struct TokenCommand: Command {
  enum Action: String, ExpressibleByArgument, CaseIterable { case add, list, remove }

  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "Makes, lists and removes tokens for programs over --listen.",
    discussion: """
      'add' prints the token once; a program sends it as 'Authorization: Bearer TOKEN'. The scope \
      'read' reads the list, its events and the metrics, 'control' does all that a client over \
      --listen may do, 'metrics' reads /metrics only. A running daemon knows at once.
      """)

  @Argument(help: ArgumentHelp("add, list or remove.", valueName: "action"))
  var action: Action

  @Argument(help: "The name of the token.")
  var name: String?

  @Option(
    help: ArgumentHelp("With 'add': read, control or metrics.", valueName: "SCOPE"),
    completion: .list(AccessScope.allCases.map(\.rawValue)))
  var scope: AccessScope?

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    guard (action == .list) == (name == nil) else {
      throw UsageError(
        action == .list ? "'token list' has no name" : "give the name of the token")
    }
    guard (action == .add) == (scope != nil) else {
      throw UsageError(
        action == .add
          ? "give --scope read, control or metrics" : "--scope is for 'haul token add'")
    }
    if let name, !Self.isName(name) {
      throw UsageError("a name has 1 to 64 letters, digits, '-', '_' and '.'")
    }
    return ControlPlan { session in
      try session.location.prepareDirectory()
      let access = try AccessList(file: session.location.access)
      switch action {
      case .add: return try await add(to: access, session.context)
      case .list: return try await list(access, session.context)
      case .remove: return try await remove(from: access)
      }
    }
  }

  private static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "-_.".utf8.contains(byte)
        }
      }
  }

  private func add(to access: AccessList, _ context: ProcessContext) async throws -> ExitStatus {
    guard let name, let scope else { return .usage }
    let token = try access.add(name, scope, at: context.clock.wallSeconds)
    return await OutputStream.show(token + "\n")
  }

  private func list(_ access: AccessList, _ context: ProcessContext) async throws -> ExitStatus {
    let tokens = access.tokens
    guard !tokens.isEmpty else { return await OutputStream.show("there are no tokens\n") }
    let table = TextTable(
      heads: ["NAME", "SCOPE", "MADE"],
      rows: tokens.map { [$0.name, $0.scope.rawValue, LocalTime.text($0.created)] },
      flexible: [0], optional: [], rightAligned: [])
    return await OutputStream.show(context.fitted(table))
  }

  private func remove(from access: AccessList) async throws -> ExitStatus {
    guard let name else { return .usage }
    guard try access.remove(name) else {
      return await OutputStream.fail("there is no token '\(name)'; to see all: haul token list")
    }
    return await OutputStream.show("the token '\(name)' was removed\n")
  }
}

extension AccessScope: ExpressibleByArgument {}

package import HaulKit

/// What the daemon runs with.
package struct DaemonSettings: Sendable {
  package var configuration: TransferManager.Configuration
  package var remote: RemoteAccess
  package var notices: NoticeSettings
  package var keptEnds: KeptEnds?
  /// The directory whose lists the caller adds: no transfer writes there.
  package var watched: String?
  /// Which of those lists the caller could not add.
  package let failedLists: FailedLists

  package init(
    _ configuration: TransferManager.Configuration, remote: RemoteAccess, notices: NoticeSettings,
    keptEnds: KeptEnds?, watched: String?, failedLists: FailedLists = FailedLists()
  ) {
    (self.configuration, self.remote) = (configuration, remote)
    (self.notices, self.keptEnds, self.watched) = (notices, keptEnds, watched)
    self.failedLists = failedLists
  }
}

/// What the configuration file says now.
package struct NewSettings: Sendable {
  package let settings: DaemonSettings
  package let changes: ReloadDocument
  /// What is used outside of the daemon counts from now on; called once the rest does.
  package let apply: @Sendable () async -> Void

  package init(
    _ settings: DaemonSettings, _ changes: ReloadDocument,
    apply: @escaping @Sendable () async -> Void
  ) {
    (self.settings, self.changes, self.apply) = (settings, changes, apply)
  }

  /// Reads the file again; starts nothing.
  /// - Throws: `Problem` (422) with the line that is wrong.
  package typealias Read = @Sendable () async throws -> NewSettings
}

/// The answer to `POST /api/v1/reload`: keys of `haul.conf`.
package struct ReloadDocument: Codable, Hashable, Sendable {
  /// Those that have changed and count from now on.
  package var changed: [String]
  /// Those that differ from what the daemon was started with, and count after a restart.
  package var needsRestart: [String]
  /// Limits among `changed` that `haul limits` or the page has set, which counts above the file.
  package var overridden: [String]
  /// True if there is no file: it counts as an empty one. Nil if there is one.
  package var isMissing: Bool?

  package init(changed: [String] = [], needsRestart: [String] = [], overridden: [String] = []) {
    (self.changed, self.needsRestart) = (changed, needsRestart)
    self.overridden = overridden
  }

  enum CodingKeys: String, CodingKey {
    case changed, overridden
    case needsRestart = "needs_restart"
    case isMissing = "missing"
  }
}

extension ReloadDocument {
  /// One sentence for each of its parts.
  package var text: String {
    func list(_ keys: [String]) -> String { keys.joined(separator: ", ") }
    let file =
      isMissing == true
      ? "there is no haul.conf, which counts as an empty one" : "haul.conf was read again"
    let first =
      changed.isEmpty
      ? "\(file); nothing else counts now" : "\(file); changed: \(list(changed))"
    let above =
      overridden.isEmpty
      ? "" : "; haul limits has set \(list(overridden)), which counts above it (--reset)"
    let later =
      needsRestart.isEmpty
      ? "" : "; after haul daemon restart only: \(list(needsRestart))"
    return first + above + later
  }
}

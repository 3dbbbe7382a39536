import HaulControl
import HaulCore
import Logging
import ServiceLifecycle
import UnixSignals

/// Reads `haul.conf` again while the daemon runs, and applies what can change then. A wrong file
/// changes nothing.
actor SettingsReload {
  private let read: NewSettings.Read
  private let watch: ConfigurationWatch
  private let limits: CurrentLimits
  private let notices: NewestSetting<NoticeSettings>
  private let keptEnds: NewestSetting<KeptEnds?>
  private let certificate: ServerCertificate?
  private let ownDirectories: OwnDirectories
  private let logger: Logger
  private var isRunning = false
  /// Keys that count after a restart.
  private(set) var needsRestart: [String] = []

  init(
    _ read: @escaping NewSettings.Read, _ watch: ConfigurationWatch, _ limits: CurrentLimits,
    _ notices: NewestSetting<NoticeSettings>, _ keptEnds: NewestSetting<KeptEnds?>,
    _ certificate: ServerCertificate?, _ ownDirectories: OwnDirectories, _ logger: Logger
  ) {
    (self.read, self.watch, self.limits) = (read, watch, limits)
    (self.notices, self.keptEnds) = (notices, keptEnds)
    (self.certificate, self.ownDirectories, self.logger) = (certificate, ownDirectories, logger)
  }

  nonisolated var hasNewFile: Bool { watch.hasChanged }

  /// - Throws: `Problem` (422) with the line that is wrong; `io`, if the certificate cannot be
  ///   read. Then nothing changes.
  func reload() async throws -> ReloadDocument {
    guard !isRunning else {
      throw Problem(409, "Conflict", "haul.conf is being read; try again")
    }
    isRunning = true
    defer { isRunning = false }
    let stamp = watch.present
    let new = try await read()
    try certificate?.reload()
    try await limits.setOptions(LimitsDocument(new.settings.configuration))
    let changed = Set(new.changes.changed)
    if !changed.isDisjoint(with: Self.keysOfNotices) { notices.set(new.settings.notices) }
    if changed.contains("keep-ended") { keptEnds.set(new.settings.keptEnds) }
    // No transfer writes there before lists are taken from it.
    ownDirectories.watch(new.settings.watched)
    await new.apply()
    watch.note(stamp)
    needsRestart = new.changes.needsRestart
    var document = new.changes
    document.overridden = await limits.changedKeys.filter(changed.contains)
    logger.info("\(document.text)")
    return document
  }

  private static let keysOfNotices: Set = [
    "notify", "notify-sound", "webhook", "webhook-secret-file", "webhook-private", "notify-command",
  ]
}

/// SIGHUP reads the file again, as for most daemons; nobody gets an answer but the log.
struct HangUpService: Service {
  let settings: SettingsReload
  let logger: Logger

  func run() async throws {
    for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() {
      do {
        _ = try await settings.reload()
      } catch {
        let reason = (error as? Problem)?.detail ?? (error as? TransferError)?.message ?? "\(error)"
        logger.error("SIGHUP: \(TerminalText.escaped(reason))")
      }
    }
  }
}

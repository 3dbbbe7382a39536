import HaulControl
import HaulCore
import HaulHTTP
import HaulKit
import Logging
import NIOPosix

/// Delivers a notice when a transfer or a group ends: to the list of the web page, the desktop, a
/// webhook and a command.
struct Notifier: Sendable {
  let board: NoticeBoard
  private let channels: [(channel: NoticeChannel, start: Int)]
  private let manager: TransferManager
  private let transport: HTTPTransport
  private let files: NIOThreadPool
  private let logger: Logger

  /// Opens the files of all channels, so that every end from now on is delivered.
  /// - Throws: `io`, `disk-full`, `permission-denied`; `tls` as for a manager.
  init(
    _ settings: NoticeSettings, at location: ControlLocation, _ manager: TransferManager,
    _ configuration: TransferManager.Configuration, environment: [String: String], logger: Logger
  ) async throws(TransferError) {
    (self.manager, self.logger) = (manager, logger)
    transport = try HTTPTransport(HTTPTransport.Settings(configuration))
    files = NIOThreadPool(numberOfThreads: 1)
    files.start()
    let io = BlockingIO(pool: files)
    let senders = Self.senders(settings, transport, environment, logger)
    do throws(TransferError) {
      let present = await manager.coordinator.lastEventNumber
      board = try await NoticeBoard(StateFile(path: location.notices), present: present, io: io)
      var channels: [(NoticeChannel, Int)] = []
      for name in Self.names {
        let cursor = StateFile(path: location.noticeCursor(of: name))
        guard let (sender, rules) = senders[name] else {
          // If it is configured again, it begins with the present.
          try await io.run { () throws(TransferError) in try cursor.remove() }
          continue
        }
        let channel = NoticeChannel(
          name: name, rules: rules, sender: sender, cursor: cursor, manager: manager, io: io,
          clock: SystemClock(), logger: logger)
        channels.append((channel, try await channel.start(at: present)))
      }
      self.channels = channels
    } catch {
      await Self.close(transport, files)
      throw error
    }
  }

  /// Delivers notices until the manager has shut down, or the task is cancelled.
  func run() async {
    if !channels.isEmpty {
      logger.info("notices go to: \(channels.map(\.channel.name).joined(separator: ", "))")
    }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await board.run(manager, logger) }
      for (channel, start) in channels {
        group.addTask { await channel.run(from: start) }
      }
    }
  }

  func close() async {
    for (channel, _) in channels { await channel.sender.close() }
    await Self.close(transport, files)
  }

  private static func close(_ transport: HTTPTransport, _ files: NIOThreadPool) async {
    await transport.shutdown()
    // Fails only when they were stopped before.
    try? await files.shutdownGracefully()
  }
}

extension Notifier {
  private typealias Sender = (sender: any NoticeSender, rules: NoticeOutbox.Rules)

  /// All channels.
  private static let names = ["desktop", "webhook", "command"]

  private static func senders(
    _ settings: NoticeSettings, _ transport: HTTPTransport, _ environment: [String: String],
    _ logger: Logger
  ) -> [String: Sender] {
    guard settings.level != .none else { return [:] }
    var senders: [String: Sender] = [:]
    let (io, clock) = (BlockingIO(), SystemClock())
    if let desktop = DesktopSender(
      environment, hasSound: settings.hasSound, io: io, clock: clock, logger: logger)
    {
      // Without this, thousands of small files would cover the screen.
      let rules = NoticeOutbox.Rules(settings.level, mostAtOnce: 5, spacing: .seconds(1))
      senders["desktop"] = (desktop, rules)
    }
    if let webhook = settings.webhook {
      senders["webhook"] = (
        WebhookSender(webhook: webhook, transport: transport), NoticeOutbox.Rules(settings.level)
      )
    }
    if !settings.command.isEmpty {
      let command = CommandSender(
        arguments: settings.command, environment: environment, io: io, clock: clock)
      senders["command"] = (command, NoticeOutbox.Rules(settings.level))
    }
    return senders
  }
}

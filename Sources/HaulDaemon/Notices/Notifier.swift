import HaulControl
import HaulCore
import HaulHTTP
import HaulKit
import Logging
import NIOConcurrencyHelpers
import NIOPosix

/// Delivers a notice when a transfer or a group ends: to the list of the web page, the desktop, a
/// webhook and a command.
struct Notifier: Sendable {
  let board: NoticeBoard
  /// Where they go; may change while they are delivered.
  let settings: NewestSetting<NoticeSettings>
  private typealias Channels = [(channel: NoticeChannel, start: Int)]
  /// The first ones, until they are used.
  private let first: NIOLockedValueBox<Channels?>
  private let location: ControlLocation
  private let environment: [String: String]
  private let manager: TransferManager
  private let lists: FailedLists
  private let transport: HTTPTransport
  private let files: NIOThreadPool
  private let logger: Logger

  /// Opens the files of all channels, so that every end from now on is delivered.
  /// - Throws: `io`, `disk-full`, `permission-denied`; `tls` as for a manager.
  init(
    _ settings: NoticeSettings, at location: ControlLocation, _ manager: TransferManager,
    _ configuration: TransferManager.Configuration, _ lists: FailedLists,
    environment: [String: String], logger: Logger
  ) async throws(TransferError) {
    self.lists = lists
    (self.manager, self.logger, self.settings) = (manager, logger, NewestSetting(settings))
    (self.location, self.environment) = (location, environment)
    transport = try HTTPTransport(HTTPTransport.Settings(configuration))
    files = NIOThreadPool(numberOfThreads: 1)
    files.start()
    first = NIOLockedValueBox(nil)
    let io = BlockingIO(pool: files)
    do throws(TransferError) {
      let present = await manager.coordinator.lastEventNumber
      board = try await NoticeBoard(StateFile(path: location.notices), present: present, io: io)
      let channels = try await self.channels(settings)
      first.withLockedValue { $0 = channels }
    } catch {
      await Self.close(transport, files)
      throw error
    }
  }

  /// Delivers notices until the task is cancelled.
  func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await board.run(manager, logger) }
      group.addTask { await board.run(lists, logger) }
      group.addTask { await settings.run { await deliver($0) } }
    }
  }

  /// Delivers to the places of these settings, from where an earlier delivery to them ended.
  private func deliver(_ settings: NoticeSettings) async {
    let channels: Channels
    do throws(TransferError) {
      if let first = takeFirst() {
        channels = first
      } else {
        channels = try await self.channels(settings)
      }
    } catch {
      return logger.error("notices: \(error.message)")
    }
    let names = channels.map(\.channel.name).joined(separator: ", ")
    if !names.isEmpty { logger.info("notices go to: \(names)") }
    await withTaskGroup(of: Void.self) { group in
      for (channel, start) in channels {
        group.addTask { await channel.run(from: start, lists) }
      }
    }
    for (channel, _) in channels { await channel.sender.close() }
  }

  private func takeFirst() -> Channels? {
    first.withLockedValue { first in
      defer { first = nil }
      return first
    }
  }

  /// Opens their files.
  private func channels(_ settings: NoticeSettings) async throws(TransferError) -> Channels {
    let io = BlockingIO(pool: files)
    let present = await manager.coordinator.lastEventNumber
    let senders = Self.senders(settings, transport, environment, logger)
    var channels: Channels = []
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
    return channels
  }

  func close() async {
    for (channel, _) in takeFirst() ?? [] { await channel.sender.close() }
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

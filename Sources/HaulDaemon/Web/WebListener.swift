import HaulControl
import HaulCore
import HaulLibC
import Logging
import NIOConcurrencyHelpers
import NIOCore
import ServiceLifecycle

/// The servers beside the socket: those of `--listen`; without it one of the loopback interface for
/// new pages, once `haul ui` asks for it, and one at each port where a page may be open.
///
/// A new page never gets a port of an earlier start: what had it meanwhile may have left code in
/// the browser, for pages to come (docs/decisions/021-page-sessions.md).
final class WebListener: Service {
  /// Runs a server until the daemon ends; calls the closure with its port when it listens.
  typealias Server =
    @Sendable (
      WebListener, ListenAddress, _ listening: @escaping @Sendable (_ port: Int?) -> Void
    ) async throws -> Void

  private enum State {
    case closed(waiting: [CheckedContinuation<String?, Never>])
    case open(address: String)
    case ended
  }

  private let access: RemoteAccess
  private let sessions: WebSessions
  private let certificate: ServerCertificate?
  private let logger: Logger
  private let server: Server
  private let state = NIOLockedValueBox(State.closed(waiting: []))
  private let taken = NIOLockedValueBox<[Int]>([])
  private let (demands, demand) = AsyncStream.makeStream(
    of: Void.self, bufferingPolicy: .bufferingNewest(1))

  init(
    _ access: RemoteAccess, _ sessions: WebSessions, _ certificate: ServerCertificate?,
    _ logger: Logger, server: @escaping Server
  ) {
    (self.access, self.sessions, self.logger, self.server) = (access, sessions, logger, server)
    self.certificate = certificate
  }

  /// The address of a new page, once it listens.
  /// - Throws: `Problem` when it cannot listen.
  func address() async throws(Problem) -> String {
    let address: String? = await withCheckedContinuation { continuation in
      let known: String?? = state.withLockedValue { state in
        switch state {
        case .open(let address): return .some(address)
        case .ended: return .some(nil)
        case .closed(let waiting):
          state = .closed(waiting: waiting + [continuation])
          return nil
        }
      }
      if let known { continuation.resume(returning: known) } else { demand.yield() }
    }
    guard let address else {
      throw Problem(
        503, "Service Unavailable", "no port of this machine is free, or the daemon is ending")
    }
    return address
  }

  /// SHA-256 of its certificate, if it has one.
  var fingerprint: String? { certificate?.fingerprint }

  /// Ports of open pages at which it cannot listen.
  var takenPorts: [Int] { taken.withLockedValue { $0.sorted() } }

  func run() async throws {
    defer { settle(.ended) }
    guard access.listeners.isEmpty else { return try await serveChosen() }
    await withTaskGroup(of: Void.self) { group in
      for port in sessions.ports { group.addTask { await self.serveOpenPages(at: port) } }
      await serveNewPages()
    }
  }

  /// Where options say; the first that ends ends all.
  /// - Throws: `in-use`, `io`.
  private func serveChosen() async throws {
    let watching = Task { [certificate] in await certificate?.watch() }
    defer { watching.cancel() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for listener in access.listeners { group.addTask { try await self.serve(at: listener) } }
      do {
        try await group.waitForAll()
      } catch {
        group.cancelAll()
        throw error
      }
    }
  }

  private func serve(at listener: ListenAddress) async throws {
    do {
      try await server(self, listener) { port in
        if let page = self.access.page(at: listener, port: port) { self.opened(page) }
      }
    } catch let error as IOError {
      throw TransferError(listeningAt: "\(listener)", error.errnoCode)
    }
  }

  private func serveOpenPages(at port: Int) async {
    do {
      try await server(self, Self.own(port)) { _ in }
    } catch {
      taken.withLockedValue { $0.append(port) }
      logger.error(
        "another program has port \(port), where a page was open; close that page (\(error))")
    }
  }

  private func serveNewPages() async {
    for await _ in demands.cancelOnGracefulShutdown() {
      do {
        return try await server(self, Self.own(0)) { port in
          if let page = self.access.page(at: Self.own(0), port: port) { self.opened(page) }
        }
      } catch {
        logger.error("cannot listen for the page: \(error)")
        settle(.closed(waiting: []))
      }
    }
  }

  /// A port for pages of this machine.
  private static func own(_ port: Int) -> ListenAddress { .tcp(host: "127.0.0.1", port: port) }

  private func opened(_ address: String) { settle(.open(address: address)) }

  private func settle(_ new: State) {
    let waiting = state.withLockedValue { state in
      defer { state = new }
      if case .closed(let waiting) = state { return waiting } else { return [] }
    }
    let address: String? = if case .open(let address) = new { address } else { nil }
    for continuation in waiting { continuation.resume(returning: address) }
  }
}

extension TransferError {
  /// - Parameter number: an error number of the system.
  fileprivate init(listeningAt address: String, _ number: Int32) {
    if number == EADDRINUSE {
      self.init(
        .inUse, "cannot listen at \(address): another program uses that port",
        advice: "choose another one")
    } else {
      self.init(
        .io, "cannot listen at \(address): \(SystemError.text(number))",
        advice: "choose another address")
    }
  }
}

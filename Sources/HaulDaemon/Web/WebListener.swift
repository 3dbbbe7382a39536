import HaulControl
import HaulCore
import Logging
import NIOConcurrencyHelpers
import ServiceLifecycle

/// The server on the loopback interface. It runs from the start when its port is chosen or a page
/// may still be open; otherwise once `haul ui` asks for it.
final class WebListener: Service {
  /// Runs the server on a port until the daemon ends; calls the closure when it listens.
  typealias Server =
    @Sendable (WebListener, _ port: Int, _ listening: @escaping @Sendable (Int) -> Void)
    async throws -> Void

  private enum State {
    case closed(waiting: [CheckedContinuation<Int?, Never>])
    case open(port: Int)
    case ended
  }

  private let access: RemoteAccess
  private let sessions: WebSessions
  private let logger: Logger
  private let server: Server
  private let state = NIOLockedValueBox(State.closed(waiting: []))
  private let (demands, demand) = AsyncStream.makeStream(
    of: Void.self, bufferingPolicy: .bufferingNewest(1))

  init(_ access: RemoteAccess, _ sessions: WebSessions, _ logger: Logger, server: @escaping Server)
  {
    (self.access, self.sessions, self.logger, self.server) = (access, sessions, logger, server)
  }

  /// Its port, once it listens.
  /// - Throws: `Problem` when it cannot listen.
  func port() async throws(Problem) -> Int {
    let port: Int? = await withCheckedContinuation { continuation in
      let known: Int?? = state.withLockedValue { state in
        switch state {
        case .open(let port): return .some(port)
        case .ended: return .some(nil)
        case .closed(let waiting):
          state = .closed(waiting: waiting + [continuation])
          return nil
        }
      }
      if let known { continuation.resume(returning: known) } else { demand.yield() }
    }
    guard let port else {
      throw Problem(
        503, "Service Unavailable", "no port of this machine is free, or the daemon is ending")
    }
    return port
  }

  func run() async throws {
    defer { settle(.ended) }
    if let port = access.port { return try await server(self, port, opened) }
    if let port = sessions.port {
      do {
        return try await server(self, port, opened)
      } catch {
        logger.warning("port \(port) is taken, so open pages are lost; run 'haul ui' for a new one")
        settle(.closed(waiting: []))
      }
    }
    for await _ in demands.cancelOnGracefulShutdown() {
      do {
        return try await server(self, 0, opened)
      } catch {
        logger.error("cannot listen for the page: \(error)")
        settle(.closed(waiting: []))
      }
    }
  }

  private func opened(_ port: Int) {
    if access.port == nil {
      do {
        try sessions.setPort(port)
      } catch {
        logger.warning("a page will not find the daemon after a restart: \(error.message)")
      }
    }
    settle(.open(port: port))
  }

  private func settle(_ new: State) {
    let waiting = state.withLockedValue { state in
      defer { state = new }
      if case .closed(let waiting) = state { return waiting } else { return [] }
    }
    let port: Int? = if case .open(let port) = new { port } else { nil }
    for continuation in waiting { continuation.resume(returning: port) }
  }
}

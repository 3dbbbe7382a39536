import HaulControl
import HaulCore
import Logging
import NIOConcurrencyHelpers
import NIOCore
import ServiceLifecycle

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The servers on the loopback interface: one for new pages, which runs from the start if its port
/// is chosen, otherwise once `haul ui` asks for it; and one at each port where a page may be open.
///
/// A new page never gets a port of an earlier start: what had it meanwhile may have left code in
/// the browser, for pages to come (docs/decisions/021-page-sessions.md).
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
  private let taken = NIOLockedValueBox<[Int]>([])
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

  /// Ports of open pages at which it cannot listen.
  var takenPorts: [Int] { taken.withLockedValue { $0.sorted() } }

  func run() async throws {
    defer { settle(.ended) }
    if let port = access.port { return try await serve(at: port) }
    await withTaskGroup(of: Void.self) { group in
      for port in sessions.ports { group.addTask { await self.serveOpenPages(at: port) } }
      await serveNewPages()
    }
  }

  /// At the chosen port.
  /// - Throws: `in-use`, `io`.
  private func serve(at port: Int) async throws {
    do {
      try await server(self, port, opened)
    } catch let error as IOError {
      throw TransferError(listeningAt: access.authority(port), error.errnoCode)
    }
  }

  private func serveOpenPages(at port: Int) async {
    do {
      try await server(self, port) { _ in }
    } catch {
      taken.withLockedValue { $0.append(port) }
      logger.error(
        "another program has port \(port), where a page was open; close that page (\(error))")
    }
  }

  private func serveNewPages() async {
    for await _ in demands.cancelOnGracefulShutdown() {
      do {
        return try await server(self, 0, opened)
      } catch {
        logger.error("cannot listen for the page: \(error)")
        settle(.closed(waiting: []))
      }
    }
  }

  private func opened(_ port: Int) { settle(.open(port: port)) }

  private func settle(_ new: State) {
    let waiting = state.withLockedValue { state in
      defer { state = new }
      if case .closed(let waiting) = state { return waiting } else { return [] }
    }
    let port: Int? = if case .open(let port) = new { port } else { nil }
    for continuation in waiting { continuation.resume(returning: port) }
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

import HaulControl
public import HaulCore

/// Something that happened in the background.
public enum BackgroundEvent: Sendable {
  /// The present transfers of the daemon, in place of the events before this number: the first
  /// element if no number was given, or if the daemon no longer has the events.
  case reset(number: Int, transfers: [ClientTransfer])
  /// Each state change has a number; store the last one, and the next call continues after it.
  case transfer(TransferEvent)
}

/// The events of the daemon: each state change once and in order, and the newest progress.
///
/// It ends with an error when the daemon is stopped; the same call after its next start continues
/// after the last number. One value is one subscriber with one reader.
public struct BackgroundEvents: AsyncSequence, Sendable {
  /// What happened.
  public typealias Element = BackgroundEvent
  /// `interrupted` or `connection-lost`.
  public typealias Failure = TransferError

  fileprivate let events: ControlEvents
  fileprivate let control: ControlClient

  /// Reads the events of one subscriber.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate var messages: ControlEvents.AsyncIterator
    fileprivate let control: ControlClient
    /// The transfers of a reset that is not complete.
    private var transfers: [ClientTransfer]?

    fileprivate init(_ events: BackgroundEvents) {
      messages = events.events.makeAsyncIterator()
      control = events.control
    }

    /// The next event.
    /// - Throws: `interrupted` when the daemon was stopped; `connection-lost`.
    @concurrent
    public mutating func next() async throws(TransferError) -> BackgroundEvent? {
      while true {
        let message: StreamMessage?
        do {
          message = try await messages.next()
        } catch {
          throw TransferError(error)
        }
        switch message {
        case .reset: transfers = []
        case .transfer(let document): transfers?.append(ClientTransfer(document, control))
        case .ready(let number):
          defer { transfers = nil }
          return .reset(number: number, transfers: transfers ?? [])
        case .event(let document):
          if let event = document.event { return .transfer(event) }
        case nil: throw TransferError(.interrupted, "the daemon was stopped")
        }
      }
    }
  }

  /// The iterator of the one subscriber.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension TransferClient {
  /// What happened in the background after that number, and what happens from now on.
  ///
  /// `manager.events(after:)` reports the same of the foreground.
  /// - Parameter number: of the last event that was handled; nil for the present state.
  /// - Throws: `connect` when the daemon is not running.
  public func backgroundEvents(
    after number: Int? = nil
  ) async throws(TransferError) -> BackgroundEvents {
    do {
      return BackgroundEvents(events: try await control.events(after: number), control: control)
    } catch {
      throw TransferError(error)
    }
  }
}

import DequeModule
import HaulCore
import NIOConcurrencyHelpers

/// The events of a run, in order, posted from any thread. One task reads them.
final class DownloadInbox: HeartbeatReceiver {
  enum Message: Sendable {
    case event(DownloadMachine.Event)
    /// A request was answered: take the answer with `takeAnswer(to:)`.
    case answered(SegmentID)
    case order(RunOrder)
    /// The timer that was set to this instant has fired.
    case timer(DownloadMachine.Timer, Instant)
    case tick
    case checkpointed(TransferError?)
    case digestAdvanced
    case published(Result<String?, TransferError>)
  }

  fileprivate struct State {
    var messages: Deque<Message> = []
    /// Not in the messages, which may live long: an answer holds a connection.
    var answers: [(id: SegmentID, response: FetchResponse)] = []
    var reader: UnsafeContinuation<Void, Never>?
    var hasTick = false
    var isClosed = false
  }

  private let state = NIOLockedValueBox(State())

  func post(_ message: Message) {
    add { $0.messages.append(message) }
  }

  func answered(_ id: SegmentID, _ response: FetchResponse) {
    add { state in
      state.answers.append((id, response))
      state.messages.append(.answered(id))
    }
  }

  /// Adds a tick unless one is unread; false when the inbox is closed.
  func tick() -> Bool {
    add { state in
      guard !state.hasTick else { return }
      state.hasTick = true
      state.messages.append(.tick)
    }
  }

  @discardableResult
  private func add(_ change: (inout State) -> Void) -> Bool {
    let (reader, isOpen) = state.withLockedValue { state in
      guard !state.isClosed else { return (nil as UnsafeContinuation<Void, Never>?, false) }
      change(&state)
      defer { state.reader = nil }
      return (state.reader, true)
    }
    reader?.resume()
    return isOpen
  }

  func next() async -> Message {
    while true {
      if let message = state.withLockedValue({ $0.next() }) { return message }
      await withUnsafeContinuation { reader in
        let hasMessage = state.withLockedValue { state in
          guard state.messages.isEmpty else { return true }
          state.reader = reader
          return false
        }
        if hasMessage { reader.resume() }
      }
    }
  }

  func takeAnswer(to id: SegmentID) -> FetchResponse? {
    state.withLockedValue { state in
      state.answers.firstIndex { $0.id == id }.map { state.answers.remove(at: $0).response }
    }
  }

  /// Accepts no more messages, and releases answers that were not taken.
  func close() {
    // Connections are closed outside the lock.
    _ = state.withLockedValue { state in
      state.isClosed = true
      defer { (state.messages, state.answers) = ([], []) }
      return state.answers
    }
  }
}

extension DownloadInbox.State {
  fileprivate mutating func next() -> DownloadInbox.Message? {
    guard let message = messages.popFirst() else { return nil }
    if case .tick = message { hasTick = false }
    return message
  }
}

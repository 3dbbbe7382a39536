import NIOConcurrencyHelpers

/// The open connections of a port. Those that have shown a token have places of their own: a
/// stranger, which has not, only takes the place of another stranger.
package final class ConnectionPlaces: Sendable {
  private struct State {
    /// Oldest first.
    var strangers: [(id: ObjectIdentifier, close: @Sendable () -> Void)] = []
    var clients: Set<ObjectIdentifier> = []
  }

  private let maximumStrangers: Int
  private let maximumClients: Int
  private let state = NIOLockedValueBox(State())

  package init(strangers: Int, clients: Int) {
    (maximumStrangers, maximumClients) = (strangers, clients)
  }

  /// A new connection is a stranger. If there are too many, the oldest is closed.
  package func enter(_ id: ObjectIdentifier, close: @escaping @Sendable () -> Void) {
    let oldest = state.withLockedValue { state in
      state.strangers.append((id, close))
      return state.strangers.count > maximumStrangers ? state.strangers.removeFirst() : nil
    }
    oldest?.close()
  }

  /// It has shown a token. Without a place it stays a stranger.
  /// - Returns: whether it has a place.
  package func admit(_ id: ObjectIdentifier) -> Bool {
    state.withLockedValue { state in
      guard state.clients.count < maximumClients,
        let index = state.strangers.firstIndex(where: { $0.id == id })
      else { return false }
      state.strangers.remove(at: index)
      state.clients.insert(id)
      return true
    }
  }

  /// It was closed.
  package func leave(_ id: ObjectIdentifier) {
    state.withLockedValue { state in
      if state.clients.remove(id) == nil { state.strangers.removeAll { $0.id == id } }
    }
  }
}

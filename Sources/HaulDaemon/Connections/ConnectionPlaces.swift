package import HaulCore
import NIOConcurrencyHelpers

/// The open connections of a port. Those that have shown a token have places of their own: a
/// stranger, which has not, only takes the place of another stranger.
package final class ConnectionPlaces: Sendable {
  private struct State {
    /// Oldest first.
    var strangers: [(id: ObjectIdentifier, peer: IPAddress?, close: @Sendable () -> Void)] = []
    var clients: Set<ObjectIdentifier> = []
  }

  private let maximumStrangers: Int
  private let maximumClients: Int
  private let state = NIOLockedValueBox(State())

  package init(strangers: Int, clients: Int) {
    (maximumStrangers, maximumClients) = (strangers, clients)
  }

  /// A new connection is a stranger. If there are too many, the oldest one of the address that has
  /// most is closed, so that one machine only takes its own places.
  package func enter(
    _ id: ObjectIdentifier, from peer: IPAddress? = nil, close: @escaping @Sendable () -> Void
  ) {
    let oldest = state.withLockedValue { state -> (@Sendable () -> Void)? in
      state.strangers.append((id, peer, close))
      guard state.strangers.count > maximumStrangers else { return nil }
      let counts = state.strangers.reduce(into: [IPAddress?: Int]()) {
        $0[$1.peer, default: 0] += 1
      }
      let most = counts.values.max()
      let index = state.strangers.firstIndex { counts[$0.peer] == most } ?? 0
      return state.strangers.remove(at: index).close
    }
    oldest?()
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

/// Which loads are under way, and their requests, as a value.
///
/// Equal requests share one flight, whose priority is the highest of theirs. It is cancelled when
/// the last subscriber leaves, unless its request was sent already. A request that comes after that
/// begins a new flight, though the old one has not ended yet.
package struct FlightTable<Key: Hashable & Sendable>: Sendable {
  package typealias FlightID = UInt64
  package typealias SubscriberID = UInt64

  package enum Event: Hashable, Sendable {
    case join(SubscriberID, Key, priority: Int)
    case leave(SubscriberID)
    case setPriority(SubscriberID, Int)
    /// The request was sent: the flight finishes also without a subscriber.
    case begun(FlightID)
    /// The result is known. Those who join from now on get it, until the flight ends.
    case published(FlightID)
    /// The result is not for later requests: the next one begins a new flight.
    case detached(FlightID)
    case ended(FlightID)
  }

  package enum Effect: Hashable, Sendable {
    case start(FlightID, Key, priority: Int)
    case shared(FlightID, isPublished: Bool)
    case setPriority(FlightID, Int)
    case cancel(FlightID)
    case deliver([SubscriberID])
  }

  fileprivate struct Flight {
    let key: Key
    var subscribers: [SubscriberID: Int] = [:]
    /// The number of subscribers of each priority.
    var counts: [Int: Int] = [:]
    var priority: Int
    var hasBegun = false
    var isPublished = false
  }

  private var flights: [FlightID: Flight] = [:]
  private var current: [Key: FlightID] = [:]
  private var subscriptions: [SubscriberID: FlightID] = [:]
  private var lastFlight: FlightID = 0

  package init() {}

  package var isEmpty: Bool { flights.isEmpty && current.isEmpty && subscriptions.isEmpty }

  /// The flight that a request would join.
  package func flight(of key: Key) -> FlightID? { current[key] }

  /// Those who wait for the result of a flight.
  package func subscribers(of flight: FlightID) -> [SubscriberID] {
    flights[flight]?.subscribers.keys.sorted() ?? []
  }

  package mutating func handle(_ event: Event) -> [Effect] {
    switch event {
    case .join(let id, let key, let priority): return join(id, key, priority)
    case .leave(let id): return leave(id)
    case .setPriority(let id, let priority): return setPriority(id, priority)
    case .begun(let id):
      flights[id]?.hasBegun = true
      return []
    case .published(let id): return publish(id)
    case .detached(let id): return detach(id)
    case .ended(let id): return end(id)
    }
  }
}

extension FlightTable {
  private mutating func join(_ id: SubscriberID, _ key: Key, _ priority: Int) -> [Effect] {
    guard subscriptions[id] == nil else { return [] }
    guard let flight = current[key] else {
      lastFlight += 1
      var new = Flight(key: key, priority: priority)
      new.add(id, priority)
      flights[lastFlight] = new
      current[key] = lastFlight
      subscriptions[id] = lastFlight
      return [.start(lastFlight, key, priority: priority)]
    }
    if flights[flight]?.isPublished == true { return [.shared(flight, isPublished: true)] }
    subscriptions[id] = flight
    flights[flight]?.add(id, priority)
    return [.shared(flight, isPublished: false)] + adjusted(flight)
  }

  private mutating func leave(_ id: SubscriberID) -> [Effect] {
    guard let flight = subscriptions.removeValue(forKey: id) else { return [] }
    flights[flight]?.remove(id)
    guard let left = flights[flight], left.subscribers.isEmpty, !left.hasBegun else {
      return adjusted(flight)
    }
    forget(flight)
    return [.cancel(flight)]
  }

  private mutating func setPriority(_ id: SubscriberID, _ priority: Int) -> [Effect] {
    guard let flight = subscriptions[id] else { return [] }
    flights[flight]?.remove(id)
    flights[flight]?.add(id, priority)
    return adjusted(flight)
  }

  private mutating func publish(_ id: FlightID) -> [Effect] {
    guard let flight = flights[id], !flight.isPublished else { return [] }
    flights[id]?.isPublished = true
    flights[id]?.subscribers = [:]
    for subscriber in flight.subscribers.keys { subscriptions[subscriber] = nil }
    return [.deliver(flight.subscribers.keys.sorted())]
  }

  private mutating func detach(_ id: FlightID) -> [Effect] {
    if let flight = flights[id], current[flight.key] == id { current[flight.key] = nil }
    return []
  }

  private mutating func end(_ id: FlightID) -> [Effect] {
    let effects = publish(id)
    forget(id)
    return effects
  }

  private mutating func forget(_ id: FlightID) {
    guard let flight = flights.removeValue(forKey: id) else { return }
    if current[flight.key] == id { current[flight.key] = nil }
  }

  /// Makes the priority of a flight the highest of its subscribers.
  private mutating func adjusted(_ id: FlightID) -> [Effect] {
    guard let flight = flights[id], let highest = flight.counts.keys.max(),
      highest != flight.priority
    else { return [] }
    flights[id]?.priority = highest
    return [.setPriority(id, highest)]
  }
}

extension FlightTable.Flight {
  fileprivate mutating func add(_ id: FlightTable.SubscriberID, _ priority: Int) {
    subscribers[id] = priority
    counts[priority, default: 0] += 1
  }

  fileprivate mutating func remove(_ id: FlightTable.SubscriberID) {
    guard let priority = subscribers.removeValue(forKey: id), let count = counts[priority] else {
      return
    }
    counts[priority] = count == 1 ? nil : count - 1
  }
}

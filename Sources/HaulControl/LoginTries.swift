package import HaulCore

/// Which tries of the password are computed: each wrong one of a client doubles the time to its
/// next one. No other client waits for that, and a session that exists never does.
package struct LoginTries: Sendable {
  package enum Client: Hashable, Sendable {
    case address(IPAddress)
    /// One that has signed in before, by the id of that session: who tries passwords at the same
    /// address does not keep it out.
    case browser(String)
    /// A user of this machine who is not the proxy's, and so could name any address.
    case user(UInt32)
  }

  package enum Answer: Hashable, Sendable {
    case go
    /// Too many wrong ones, or another try of the same client is being computed.
    case wait(Duration)
    /// Too many clients try at once.
    case busy
  }

  private struct Record {
    var failures = 0
    var last: Instant
    var isTrying = false
  }

  /// Wrong ones without a wait: people mistype.
  package static let free = 3
  package static let longest: Duration = .seconds(300)
  /// How many may wait to be computed, one after the other.
  package static let maximumTrying = 8
  /// How many of them may be of one network, whose owner has many addresses.
  package static let maximumTryingOfNetwork = 2
  /// How many of them are kept for networks without a wrong password in the last hour: who has
  /// few networks fills the other ones only.
  package static let reserved = 2
  /// How many clients are remembered.
  package static let maximumClients = 1024
  private static let memory: Duration = .seconds(3600)

  private var records: [Client: Record] = [:]

  package init() {}

  /// How many clients are remembered now.
  package var count: Int { records.count }

  /// Before the password is computed; `end` follows `go`.
  package mutating func begin(_ client: Client, at now: Instant) -> Answer {
    let key = Self.key(client)
    if var record = records[key] {
      if record.isTrying { return .wait(.seconds(1)) }
      if record.last + Self.memory <= now { record.failures = 0 }
      let until = record.last + Self.delay(record.failures)
      if until > now { return .wait(until - now) }
      guard hasRoom(for: key, at: now) else { return .busy }
      record.isTrying = true
      records[key] = record
      return .go
    }
    guard hasRoom(for: key, at: now) else { return .busy }
    makeRoom(at: now)
    records[key] = Record(last: now, isTrying: true)
    return .go
  }

  package mutating func end(_ client: Client, isRight: Bool, at now: Instant) {
    let key = Self.key(client)
    guard !isRight, var record = records[key] else {
      records[key] = nil
      return
    }
    record.isTrying = false
    record.failures = min(record.failures + 1, 32)
    record.last = now
    records[key] = record
  }

  /// After so many wrong ones.
  package static func delay(_ failures: Int) -> Duration {
    guard failures >= free else { return .zero }
    return min(.seconds(1 << min(failures - free, 16)), longest)
  }

  /// There are few known browsers, and each tries once at a time.
  private func hasRoom(for client: Client, at now: Instant) -> Bool {
    if case .browser = client { return true }
    let near = records.filter { Self.areNear($0.key, client) }.values
    let hasFailed = near.contains { $0.failures > 0 && $0.last + Self.memory > now }
    let trying = records.values.count(where: \.isTrying)
    return trying < Self.maximumTrying - (hasFailed ? Self.reserved : 0)
      && near.count(where: \.isTrying) < Self.maximumTryingOfNetwork
  }

  private static func areNear(_ one: Client, _ other: Client) -> Bool {
    guard case .address(let one) = one, case .address(let other) = other else {
      return one == other
    }
    return one.network48 == other.network48
  }

  /// Forgets what is old, and, if there are still too many, the client that has not tried for the
  /// longest time.
  private mutating func makeRoom(at now: Instant) {
    guard records.count >= Self.maximumClients else { return }
    records = records.filter { $0.value.isTrying || $0.value.last + Self.memory > now }
    guard records.count >= Self.maximumClients else { return }
    let idle = records.filter { !$0.value.isTrying }
    if let oldest = idle.min(by: { $0.value.last < $1.value.last }) { records[oldest.key] = nil }
  }

  /// One customer has a whole /64 of IPv6.
  private static func key(_ client: Client) -> Client {
    guard case .address(let address) = client else { return client }
    return .address(address.unmapped.network64)
  }
}

import HaulCore
import NIOConcurrencyHelpers

/// The targets that transfers of one manager are downloading to: tells two of them apart from
/// another process, which a lock on the part file cannot.
final class TargetReservations: Sendable {
  /// A name in a directory, by whatever path it was found.
  struct Key: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64
    let name: String
  }

  fileprivate struct Holder {
    let id: TransferID
    let url: ResourceURL
    /// Whether it runs; else its bytes are there, and it is to go on.
    var isRunning = true
  }

  fileprivate struct State {
    var holders: [Key: Holder] = [:]
    var departures = 0
    var kept: [TransferID: Key] = [:]
    /// The numbers that names got which were reserved; 0 is none.
    var numbers: [TransferID: Int] = [:]
  }

  private let state = NIOLockedValueBox(State())
  private let searching = NIOLock()

  /// Takes a target for a transfer that runs; false when another has it.
  func hold(_ key: Key, for id: TransferID, _ url: ResourceURL) -> Bool {
    state.withLockedValue { state in
      if let holder = state.holders[key], holder.isRunning || holder.id != id { return false }
      state.holders[key] = Holder(id: id, url: url)
      return true
    }
  }

  func letGo(_ key: Key) { state.withLockedValue { $0.letGo(key) } }

  /// How often a target was let go of: as long as that stays, nobody but who holds one has left
  /// anything there.
  var departures: Int { state.withLockedValue { $0.departures } }

  /// It runs no more and is to go on with the bytes that are there: nobody else is to take them
  /// over.
  func keep(_ key: Key) {
    state.withLockedValue { state in
      guard let id = state.holders[key]?.id else { return }
      state.holders[key]?.isRunning = false
      if let former = state.kept.updateValue(key, forKey: id), former != key {
        state.letGo(former, of: id)
      }
    }
  }

  /// Keeps a target for one that has not run yet.
  func reserve(_ key: Key, number: Int, for id: TransferID) {
    keep(key)
    state.withLockedValue { $0.numbers[id] = number }
  }

  /// The number that was reserved for it; nil when nothing was.
  func number(for id: TransferID) -> Int? { state.withLockedValue { $0.numbers[id] } }

  /// It will not go on.
  func forget(_ id: TransferID) {
    state.withLockedValue { state in
      state.numbers[id] = nil
      if let key = state.kept.removeValue(forKey: id) { state.letGo(key, of: id) }
    }
  }

  /// What is being downloaded to a target, or is to be.
  func holder(of key: Key) -> ResourceURL? { state.withLockedValue { $0.holders[key]?.url } }

  /// Looks for a name; one search at a time, so that a name at which another search only looks is
  /// not taken for its.
  func search<Value>(_ body: () throws(TransferError) -> Value) throws(TransferError) -> Value {
    try searching.withLock {
      Result { () throws(TransferError) in try body() }
    }.get()
  }
}

extension TargetReservations.State {
  fileprivate mutating func letGo(_ key: TargetReservations.Key) {
    holders[key] = nil
    departures += 1
  }

  fileprivate mutating func letGo(_ key: TargetReservations.Key, of id: TransferID) {
    if let holder = holders[key], holder.id == id, !holder.isRunning { letGo(key) }
  }
}

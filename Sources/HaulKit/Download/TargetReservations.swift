import HaulCore
import NIOConcurrencyHelpers

/// The targets of one manager's transfers. It separates two transfers of one process, which a file
/// lock cannot.
final class TargetReservations: Sendable {
  /// A name in a directory, whatever path led to it.
  struct Key: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64
    let name: String
  }

  /// A name that was reserved before its transfer ran.
  struct Reserved {
    /// 0 for none.
    let number: Int
    /// Whether no file, and no part of one, had the name, with or without a number.
    let hadNoFiles: Bool
  }

  fileprivate struct Holder {
    let id: TransferID
    let url: ResourceURL
    /// Whether it runs; if not, its bytes are on disk and it may resume.
    var isRunning = true
  }

  fileprivate struct State {
    var holders: [Key: Holder] = [:]
    var releaseCount = 0
    var kept: [TransferID: Key] = [:]
    var reserved: [TransferID: Reserved] = [:]
  }

  private let state = NIOLockedValueBox(State())
  private let searchLock = NIOLock()

  /// Reserves a target for a running transfer; false when another has it.
  func hold(_ key: Key, for id: TransferID, _ url: ResourceURL) -> Bool {
    state.withLockedValue { state in
      if let holder = state.holders[key], holder.isRunning || holder.id != id { return false }
      state.holders[key] = Holder(id: id, url: url)
      return true
    }
  }

  func release(_ key: Key) { state.withLockedValue { $0.release(key) } }

  /// How often a target was released. While this is unchanged, only transfers that still hold a
  /// target have written files.
  var releaseCount: Int { state.withLockedValue { $0.releaseCount } }

  /// Keeps the target of a transfer that no longer runs but may resume from its bytes on disk.
  func keep(_ key: Key) {
    state.withLockedValue { state in
      guard let id = state.holders[key]?.id else { return }
      state.holders[key]?.isRunning = false
      if let former = state.kept.updateValue(key, forKey: id), former != key {
        state.release(former, of: id)
      }
    }
  }

  /// Reserves a target for a transfer that has not run yet.
  func reserve(_ key: Key, as reserved: Reserved, for id: TransferID) {
    keep(key)
    state.withLockedValue { $0.reserved[id] = reserved }
  }

  /// What was reserved for it; nil for nothing.
  func reserved(for id: TransferID) -> Reserved? { state.withLockedValue { $0.reserved[id] } }

  /// Forgets a transfer that will not resume.
  func forget(_ id: TransferID) {
    state.withLockedValue { state in
      state.reserved[id] = nil
      if let key = state.kept.removeValue(forKey: id) { state.release(key, of: id) }
    }
  }

  /// The address that a target is reserved for.
  func reservedURL(of key: Key) -> ResourceURL? { state.withLockedValue { $0.holders[key]?.url } }

  /// Runs one search for a name at a time: otherwise one search would see a name as reserved that
  /// another only checks.
  func search<Value>(_ body: () throws(TransferError) -> Value) throws(TransferError) -> Value {
    try searchLock.withLock {
      Result { () throws(TransferError) in try body() }
    }.get()
  }
}

extension TargetReservations.State {
  fileprivate mutating func release(_ key: TargetReservations.Key) {
    holders[key] = nil
    releaseCount += 1
  }

  fileprivate mutating func release(_ key: TargetReservations.Key, of id: TransferID) {
    if let holder = holders[key], holder.id == id, !holder.isRunning { release(key) }
  }
}

import HaulCore
import NIOConcurrencyHelpers

/// The targets that transfers of one manager are downloading to: tells two of them apart from another process, which a
/// lock on the part file cannot.
final class TargetBook: Sendable {
  /// A name in a directory, by whatever path it was found.
  struct Key: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64
    let name: String
  }

  private let holders = NIOLockedValueBox<[Key: ResourceURL]>([:])
  private let searching = NIOLock()

  /// Takes a target for a transfer; false when another has it.
  func hold(_ key: Key, for url: ResourceURL) -> Bool {
    holders.withLockedValue { holders in
      guard holders[key] == nil else { return false }
      holders[key] = url
      return true
    }
  }

  func letGo(_ key: Key) { holders.withLockedValue { $0[key] = nil } }

  /// What is being downloaded to a target.
  func holder(of key: Key) -> ResourceURL? { holders.withLockedValue { $0[key] } }

  /// Looks for a name; one search at a time, so that a name at which another search only looks is not taken for its.
  func search<Value>(_ body: () throws(TransferError) -> Value) throws(TransferError) -> Value {
    try searching.withLock {
      Result { () throws(TransferError) in try body() }
    }.get()
  }
}

import HaulCore
import HaulLibC
import NIOConcurrencyHelpers
import Synchronization

/// A file descriptor, closed exactly once, after its last use. A call in progress keeps it open, so
/// that its number cannot be reused during that call.
final class Descriptor: Sendable {
  let number: Int32
  /// Whether its file may be locked through it.
  fileprivate let mayBeLocked = Atomic(false)

  init(_ number: Int32) { self.number = number }

  deinit {
    // A program that is being started holds a copy for a moment, and with it the lock.
    if mayBeLocked.load(ordering: .relaxed) { _ = flock(number, LOCK_UN) }
    _ = close(number)
  }
}

/// A descriptor until `close`.
struct DescriptorBox: Sendable {
  private let box: NIOLockedValueBox<Descriptor?>

  init(_ number: Int32) { box = NIOLockedValueBox(Descriptor(number)) }

  func close() { box.withLockedValue { $0 = nil } }

  /// Locks the file until the last use of the descriptor has ended.
  func tryLock() throws(DiskError) {
    box.withLockedValue { $0?.mayBeLocked.store(true, ordering: .relaxed) }
    _ = try call("flock") { PlatformCalls.tryLock($0) }
  }

  /// Makes a call that returns -1 on failure; repeats it after an interruption.
  func call<Value: SignedInteger>(_ name: String, _ body: (Int32) -> Value) throws(DiskError)
    -> Value
  {
    guard let descriptor = box.withLockedValue({ $0 }) else { throw DiskError(name, EBADF) }
    return try withExtendedLifetime(descriptor) { () throws(DiskError) in
      try retrying(name) { body(descriptor.number) }
    }
  }
}

func retrying<Value: SignedInteger>(_ name: String, _ body: () -> Value) throws(DiskError) -> Value
{
  while true {
    let value = body()
    if value != -1 { return value }
    guard errno == EINTR else { throw DiskError(name, errno) }
  }
}

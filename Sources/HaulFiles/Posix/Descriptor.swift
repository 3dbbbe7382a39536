import HaulCore
import NIOConcurrencyHelpers

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A file descriptor, closed exactly once: when nobody uses it any more. A call in flight keeps it
/// open, so its number cannot become another file's under that call.
final class Descriptor: Sendable {
  let number: Int32

  init(_ number: Int32) { self.number = number }

  deinit { _ = close(number) }
}

/// A descriptor until `close`.
struct DescriptorBox: Sendable {
  private let box: NIOLockedValueBox<Descriptor?>

  init(_ number: Int32) { box = NIOLockedValueBox(Descriptor(number)) }

  func close() { box.withLockedValue { $0 = nil } }

  /// Makes a call that answers -1 for a failure; again as long as it was interrupted.
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

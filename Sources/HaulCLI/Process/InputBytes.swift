import Dispatch
import HaulCore
import HaulKit
import HaulLibC
import Synchronization

/// The bytes of an open descriptor, read when they are asked for, outside the cooperative threads.
struct InputBytes: AsyncSequence, Sendable {
  typealias Element = [UInt8]

  let descriptor: Int32

  /// Ends a read whose task was cancelled.
  private final class Stop: Sendable {
    let isSet = Atomic(false)
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    let descriptor: Int32
    private let queue = DispatchQueue(label: "haul.input")

    /// - Throws: `source-unreadable`.
    mutating func next() async throws -> [UInt8]? {
      let (stop, queue, descriptor) = (Stop(), queue, descriptor)
      return try await withTaskCancellationHandler {
        await OneShot<Result<[UInt8]?, any Error>>.wait { oneShot in
          queue.async { oneShot.give(Result { try InputBytes.read(descriptor, until: stop) }) }
        }
      } onCancel: {
        stop.isSet.store(true, ordering: .relaxed)
      }.get()
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(descriptor: descriptor) }

  private static let chunkSize = 256 << 10
  /// How often a read that waits looks whether it should stop.
  private static let milliseconds: Int32 = 100

  /// Nil at the end.
  private static func read(_ descriptor: Int32, until stop: Stop) throws -> [UInt8]? {
    let name = descriptor == STDIN_FILENO ? "standard input" : "descriptor \(descriptor)"
    while !stop.isSet.load(ordering: .relaxed) {
      var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      // On failure, the read reports why.
      if poll(&poller, 1, milliseconds) == 0 { continue }
      var (count, number) = (0, Int32(0))
      let bytes = [UInt8](unsafeUninitializedCapacity: chunkSize) { buffer, initialized in
        count = systemRead(descriptor, UnsafeMutableRawBufferPointer(buffer))
        number = errno
        initialized = Swift.max(0, count)
      }
      if count > 0 { return bytes }
      if count == 0 { return nil }
      guard number == EINTR || number == EAGAIN else {
        throw TransferError(
          .sourceUnreadable, "\(name) cannot be read: \(SystemError.text(number))")
      }
    }
    throw CancellationError()
  }
}

private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
  read(descriptor, buffer.baseAddress, buffer.count)
}

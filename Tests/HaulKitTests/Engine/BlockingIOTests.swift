import HaulCore
import HaulKit
import HaulLibC
import HaulTesting
import Testing

/// Threads of blocking calls.
@Suite
struct BlockingIOTests {
  private static var thread: Int { pthread_self().hashValue }

  /// Whether a call that takes so long was made on the calling thread.
  private func staysHere(_ io: BlockingIO, _ clock: ManualClock, taking milliseconds: Int64 = 0)
    async throws
    -> Bool
  {
    let here = Self.thread
    let there = try await io.run { () throws(TransferError) in
      clock.advance(by: .milliseconds(milliseconds))
      return Self.thread
    }
    return here == there
  }

  @Test func `On a helper thread, unless the caller may wait`() async throws {
    let clock = ManualClock()
    #expect(try await !staysHere(BlockingIO(clock: clock), clock))
    #expect(try await staysHere(BlockingIO(clock: clock).inPlace, clock))
  }

  @Test
  func `Without a clock, the speed of the disk is unknown: on a helper thread`() async throws {
    #expect(try await !staysHere(BlockingIO().inPlace, ManualClock()))
  }

  @Test func `After a slow call, no copy runs calls in place for a second`() async throws {
    let clock = ManualClock()
    let io = BlockingIO(clock: clock)
    #expect(try await staysHere(io.inPlace, clock, taking: 49))
    #expect(try await staysHere(io.inPlace, clock, taking: 50))
    #expect(try await !staysHere(io.inPlace, clock))
    clock.advance(by: .milliseconds(999))
    #expect(try await !staysHere(io.inPlace, clock))
    clock.advance(by: .milliseconds(1))
    #expect(try await staysHere(io.inPlace, clock))
  }

  @Test func `A failure in place is reported, and its time counts`() async throws {
    let clock = ManualClock()
    let io = BlockingIO(clock: clock).inPlace
    await #expect(throws: TransferError(.diskFull, "full")) {
      try await io.run { () throws(TransferError) in
        clock.advance(by: .milliseconds(100))
        throw TransferError(.diskFull, "full")
      }
    }
    #expect(try await !staysHere(io, clock))
  }
}

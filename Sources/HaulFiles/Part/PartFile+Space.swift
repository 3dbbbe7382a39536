import HaulCore
import NIOConcurrencyHelpers

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Space is reserved in steps of what arrives, and given back if its bytes do not arrive.
extension PartFile {
  /// The most to reserve before a byte has arrived; files up to this length are reserved at once.
  package static let reservationStep: Int64 = 8 << 20

  /// Reserves space for a write and for the bytes after it.
  /// - Throws: `disk-full`, `io`.
  func allocate(_ range: ByteRange, of part: any DiskFile) throws(TransferError) {
    do throws(DiskError) {
      try part.allocate(range)
    } catch {
      guard [EOPNOTSUPP, ENOSYS, EINVAL].contains(error.errno) else {
        throw TransferError(error, while: "reserve \(ByteCount.text(range.length))")
      }
      state.withLockedValue { $0.space = nil }
    }
  }

  /// Gives back the space of bytes that have not arrived.
  func returnSpace() {
    // Whatever cannot be given back now, the next run gives back.
    try? locked { state throws(TransferError) in
      guard state.hasSpareSpace, let part = state.part, let identity = state.partIdentity else {
        return
      }
      // After another process has taken over, these may be its bytes.
      try checkNames(&state)
      try state.journal.checkEnd()
      try state.returnSpace(of: part)
      // If the part file is newer than its journal, the next run reads all claims back.
      if !state.isDeferred { try state.appendRun(run(of: identity)) }
    }
  }

  /// The record with which this run takes the file.
  func run(of part: FileIdentity) -> JournalRun {
    JournalRun(nonce: nonce, mountID: directory.mountID, part: part, bootID: bootID)
  }
}

extension PartState {
  fileprivate var hasSpareSpace: Bool {
    space?.mayHaveSpare == true && failure == nil && !isPublished && !hasBegunToPublish
  }

  /// Notes a write, and returns the range to reserve before it, if any.
  mutating func reserveSpace(for write: ByteRange) -> ByteRange? {
    space?.note(write, claimed: claimed, writers: open.lazy.map(\.start))
  }

  /// Under the lock, so that no write begins in a range that is given back.
  fileprivate mutating func returnSpace(of part: any DiskFile) throws(TransferError) {
    var needed = claimed
    for extent in open { needed.insert(contentsOf: extent.touched) }
    let gaps = try mapping("check the part file") { [needed] () throws(DiskError) in
      needed.gaps(in: 0..<(try part.status().size))
    }
    for gap in gaps.ranges {
      try mapping("give space back") { () throws(DiskError) in try part.deallocate(gap) }
    }
    space?.noteReturned()
  }
}

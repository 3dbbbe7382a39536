import HaulCore
import Testing

/// What a download knows of the server's ranges.
@Suite struct RangeSupportTests {
  private func mayBeReason(
    _ ranges: RangeSupport, status: Int? = nil, from first: Int64? = 0, hasDelivered: Bool = false
  ) -> Bool {
    ranges.mayBeReason(
      of: TransferError(.httpStatus, "refused", status: status), from: first,
      hasDelivered: hasDelivered)
  }

  @Test func `Only a request for a range that failed as some ranges do may have failed for it`() {
    var ranges = RangeSupport(isPossible: true)
    #expect(mayBeReason(ranges, status: 501))
    #expect(!mayBeReason(ranges, status: 501, from: nil))
    #expect(!mayBeReason(ranges, status: 429))
    #expect(!mayBeReason(ranges), "no status, and no lost connection")
    #expect(!mayBeReason(ranges, status: 501, hasDelivered: true), "the whole file may be served")
    #expect(mayBeReason(ranges, status: 501, from: 40, hasDelivered: true))
    ranges.noteServed()
    #expect(!mayBeReason(ranges, status: 501, from: 40))
  }

  @Test func `Every second attempt has no range, and the one after a silence`() {
    var ranges = RangeSupport(isPossible: true)
    for attempt in 1...4 {
      ranges.chooseNext(attempt: attempt, isSilence: false, isReason: true, hasBytes: false)
      #expect(ranges.areAskedFor == !attempt.isMultiple(of: 2))
    }
    ranges.chooseNext(attempt: 5, isSilence: true, isReason: true, hasBytes: false)
    #expect(!ranges.areAskedFor)
    ranges.chooseNext(attempt: 6, isSilence: true, isReason: false, hasBytes: false)
    #expect(ranges.areAskedFor)
  }

  @Test func `With bytes, only a version that began without a range is asked for without one`() {
    var ranges = RangeSupport(isPossible: true)
    ranges.chooseNext(attempt: 2, isSilence: false, isReason: true, hasBytes: true)
    #expect(ranges.areAskedFor)
    ranges.chooseNext(attempt: 2, isSilence: false, isReason: true, hasBytes: false)
    ranges.begin(isWhole: true)
    #expect(ranges.areAskedFor, "that request may have been lucky")
    ranges.chooseNext(attempt: 2, isSilence: false, isReason: true, hasBytes: true)
    #expect(!ranges.areAskedFor)
  }

  @Test func `A whole body ends them, until the download starts over; decoded bodies have none`() {
    var ranges = RangeSupport(isPossible: true)
    ranges.begin(isWhole: true)
    #expect(!ranges.isUsed)
    ranges.startOver()
    #expect(ranges.isUsed)
    var decoded = RangeSupport(isPossible: false)
    decoded.startOver()
    #expect(!decoded.isUsed)
  }
}

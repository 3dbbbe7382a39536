import HaulCore
import Testing

/// What people read of a wait.
@Suite struct WaitReasonTests {
  private static let now = Instant(.seconds(100))

  private static let cases: [(WaitReason, String)] = [
    (.slot, "every slot is taken"), (.suspended, "the queue is suspended"),
    (.retry(at: 1004.2), "it is tried again in 5 s"),
    (.hostBackOff(until: now + .seconds(7)), "the host asked to be left alone for 7 s more"),
    (.offline, "there is no network"), (.schedule("closed until Monday"), "closed until Monday"),
    (
      .diskFull(.init(device: 1, directory: "/d", needed: 340 << 20, free: 12 << 20)),
      "the disk is full: 12.0 MiB free, 340.0 MiB needed"
    ),
    (.directoryMissing("/d", seen: nil), "the directory /d is not there"),
  ]

  @Test(arguments: cases) func `Each reason has its words`(reason: WaitReason, words: String) {
    #expect(reason.words(at: Self.now, wallSeconds: 1000) == words)
  }
}

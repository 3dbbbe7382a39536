import HaulCore
import Testing

/// The texts and codes of wait reasons.
@Suite struct WaitReasonTests {
  private static let other = TransferID(bits: 1)

  /// A reason, its code, its text at 1,000 seconds since 1970, and when it ends.
  private static let cases: [(WaitReason, String, String, Double?)] = [
    (.slot, "slot", "all slots are taken", nil),
    (.hostLimit, "host-limit", "the host's limit of transfers or connections is reached", nil),
    (
      .hostRefusal(until: 1300), "host-refusal",
      "the host refused more at once, so it gets fewer for 300 s", 1300
    ),
    (
      .hostBackOff(until: 1007), "host-back-off", "the host asked for a pause, 7 s left",
      1007
    ),
    (
      .hostOutage(until: 1006.5), "host-outage",
      "the host does not answer; retrying in 7 s", 1006.5
    ),
    (
      .hostOutage(until: nil), "host-outage",
      "the host does not answer; another transfer is retrying", nil
    ),
    (.retry(at: 1004.2), "retry", "retrying in 5 s", 1004.2),
    (.retry(at: 900), "retry", "retrying in 0 s", 900),
    (.retry(at: .infinity), "retry", "retrying in 1000000000000000 s", .infinity),
    (
      .diskFull(.init(device: 1, directory: "/d", needed: 340 << 20, free: 12 << 20)),
      "disk-full", "the disk is full: 12.0 MiB free, 340.0 MiB needed", nil
    ),
    (
      .diskFull(.init(device: 1, directory: "/d", needed: 10 << 20, free: 12 << 20)),
      "disk-full",
      "the disk is full: 12.0 MiB free, 10.0 MiB needed; 16.0 MiB more stay free for others", nil
    ),
    (
      .directoryMissing("/d", foundDevice: nil), "directory-missing", "the directory /d is missing",
      nil
    ),
    (
      .directoryMissing("/d", foundDevice: 3), "directory-missing",
      "the file system of /d is not mounted", nil
    ),
    (.offline, "offline", "there is no network", nil),
    (.credentialsRefused, "credentials-refused", "the host refuses its credentials", nil),
    (.listNotStored, "list-not-stored", "the list cannot be stored now", nil),
    (
      .startTime(until: 1_795_557_600), "start-time", "starts at 2026-11-24 22:00 UTC",
      1_795_557_600
    ),
    (
      .startTime(until: .infinity), "start-time", "starts at 5138-11-16 09:46 UTC", .infinity
    ),
    (
      .schedule("closed until Monday", until: 2000), "schedule", "closed until Monday", 2000
    ),
    (.suspended, "suspended", "the queue is suspended", nil),
  ]

  @Test(arguments: cases) func `Each wait reason has its code, its text and its end time`(
    reason: WaitReason, code: String, text: String, until: Double?
  ) {
    #expect(reason.code == code)
    #expect(reason.text(at: 1000) == text)
    #expect(reason.untilSeconds == until)
  }

  @Test func `A wait for another transfer names that transfer`() throws {
    let other = try #require(Self.other)
    for (isBlocked, text) in [
      (false, "waiting for \(other)"), (true, "the dependency \(other) was not completed"),
    ] {
      let reason = WaitReason.dependency(other, isBlocked: isBlocked)
      #expect(reason.code == "dependency")
      #expect(reason.text(at: 0) == text)
    }
  }
}

import HaulCore
import Testing

/// What differs between two requests.
@Suite struct RequestDifferenceTests {
  private func download(
    _ url: String = "http://h/f", _ change: (inout DownloadRequest) -> Void = { _ in }
  ) throws -> TransferRequest {
    .download(try ResourceURL(url), to: .file("/d/f"), change)
  }

  @Test func `What changes only when and how fast it runs does not count`() throws {
    var other = try download {
      ($0.connections, $0.rateLimit, $0.creationMask) = (3, 7, 0o077)
      $0.retry.retries = 1
    }
    (other.priority, other.startSeconds, other.after) = (.utility, 5, ["x"])
    #expect(try download().difference(from: other) == nil)
  }

  @Test func `Other times of a repetition count, and no times are those that it has`() throws {
    let once = try download()
    var (daily, hourly) = (once, once)
    daily.repetition = Repetition("daily 03:00")
    hourly.repetition = Repetition("1h")
    #expect(daily.difference(from: hourly) == "other times, daily 03:00")
    #expect(once.difference(from: daily) == "other times, once")
    #expect(daily.difference(from: daily) == nil && daily.difference(from: once) == nil)
  }

  @Test func `What it does, and with which credentials, counts`() throws {
    let checksum = Checksum("sha-256=" + String(repeating: "0", count: 64))
    let own = try download()
    var grouped = own
    grouped.group = "g"
    let others: [(TransferRequest, String)] = [
      (try download("http://h/g"), "another address, http://h/f"),
      (try download("http://u:p@h/f"), "another user name or password"),
      (try download { $0.destination = .directory("/d") }, "another file"),
      (try download { $0.checksums = checksum.map { [$0] } ?? [] }, "other checksums"),
      (try download { $0.headers = [("Authorization", "Bearer x")] }, "other header fields"),
      (try download { $0.decodesContent = true }, "other options"), (grouped, "another group"),
      (.step(program: ["true"]), "another kind of work"),
    ]
    for (other, expected) in others {
      #expect(own.difference(from: other) == expected)
    }
    let step = TransferRequest.step(program: ["true"], in: "/")
    #expect(step.difference(from: step) == nil)
    #expect(step.difference(from: .step(program: ["false"], in: "/")) == "another program")
  }
}

import HaulControl
import HaulCore
import Testing

/// Which transfers a list shows, and which ends the daemon keeps.
@Suite struct TransferFilterTests {
  private func summary(_ url: String) throws -> TransferSummary {
    let request = TransferRequest.download(try ResourceURL(url), to: .directory("/d")) { _ in }
    let record = TransferRecord(
      id: try #require(TransferID("4FZ0ABCD")), request: request, storedState: StoredState())
    return TransferSummary(QueuedMember(record), waitReason: nil)
  }

  @Test(arguments: [
    ("h.example", "http://h.example:8080/x", true), ("H.Example", "http://h.example/x", true),
    ("h.example:8080", "http://h.example:8080/x", true),
    ("h.example:80", "http://h.example:8080/x", false),
    ("h.exam", "http://h.example/x", false), ("example", "http://h.example/x", false),
    ("[::1]", "http://[::1]:8080/x", true), ("[", "http://[::1]:8080/x", false),
  ])
  func `a host is its whole name, with its port or without`(
    _ host: String, _ url: String, _ isTaken: Bool
  ) throws {
    var filter = TransferFilter()
    filter.host = host
    #expect(filter.takes(try summary(url)) == isTaken)
  }

  @Test func `a state and a group must both be those that were asked for`() throws {
    var filter = TransferFilter()
    let summary = try summary("http://h/x")
    #expect(filter.isEmpty && filter.takes(summary))
    filter.states = [.queued, .failed]
    #expect(filter.takes(summary))
    filter.group = "g"
    #expect(!filter.takes(summary))
    (filter.states, filter.group) = ([.failed], nil)
    #expect(!filter.takes(summary))
  }

  @Test func `ends are kept for a time, or the newest of them`() throws {
    let ids = try ["00000001", "00000002", "00000003"].map { try #require(TransferID($0)) }
    let ends = [ids[0]: 300.0, ids[1]: 100, ids[2]: 200]
    #expect(KeptEnds.seconds(99).surplus(ends, at: 300) == [ids[1], ids[2]])
    #expect(KeptEnds.seconds(200).surplus(ends, at: 300).isEmpty)
    #expect(KeptEnds.seconds(1).surplus(ends, at: 0).isEmpty, "the clock was set back")
    #expect(KeptEnds.newest(1).surplus(ends, at: 0) == [ids[1], ids[2]])
    #expect(KeptEnds.newest(3).surplus(ends, at: 0).isEmpty)
    #expect(KeptEnds.newest(0).surplus(ends, at: 0).count == 3)
  }
}

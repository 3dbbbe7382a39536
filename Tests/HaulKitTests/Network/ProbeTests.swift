import HaulCore
import HaulKit
import HaulTesting
import Testing

/// What `haul probe` says that a server supports.
@Suite struct ProbeTests {
  private func probe(
    _ fixture: DownloadFixture, _ path: String, _ change: (inout DownloadRequest) -> Void = { _ in }
  ) async throws -> ProbeResult {
    let manager = try TransferManager()
    let request = try fixture.request(path) { request in
      request.minimumSplit = 1 << 20
      change(&request)
    }
    do {
      let result = try await manager.probe(request)
      await manager.shutdown()
      return result
    } catch {
      await manager.shutdown()
      throw error
    }
  }

  @Test func `A server with ranges and a strong tag, behind a redirect`() async throws {
    let file = FaultScript.Resource(
      "/file.bin", seed: 3, length: 5 << 20, faults: [Fault(.digest())]
    ).with { $0.contentDisposition = #"attachment; filename="server.iso""# }
    try await DownloadFixture.with([file, .redirecting("/start.bin", to: "/file.bin?sig=secret")]) {
      fixture in
      let result = try await probe(fixture, "/start.bin")
      #expect(result.length == 5 << 20)
      #expect(result.servesRanges)
      #expect(result.hasStrongValidator)
      #expect(result.entityTag == FaultScript.Resource.strongTag(seed: 3))
      #expect(result.suggestedName == "server.iso")
      #expect(result.fileName == "start.bin")
      #expect(result.finalURL.redacted.contains("secret") == false)
      #expect(result.httpVersion == "HTTP/1.1")
      #expect(result.digests == rightChecksums(seed: 3, length: 5 << 20))
      #expect(result.plan.connections == 4)
      #expect(result.plan.resumes)
      #expect(fixture.server.snapshot.total.bytes <= 1, "nothing is downloaded")
      #expect(try fixture.names().isEmpty)
    }
  }

  @Test func `A server without ranges, and one without validators`() async throws {
    let noRanges = FaultScript.Resource("/a", seed: 3, length: 5 << 20).with {
      $0.acceptRanges = .none
    }
    let noValidators = FaultScript.Resource("/b", seed: 3, length: 5 << 20).with {
      $0.entityTag = nil
      $0.lastModified = nil
    }
    let empty = FaultScript.Resource("/c", seed: 3, length: 0)
    try await DownloadFixture.with([noRanges, noValidators, empty]) { fixture in
      let first = try await probe(fixture, "/a")
      #expect(first.length == 5 << 20)
      #expect(!first.servesRanges && !first.plan.resumes && first.plan.connections == 1)
      let second = try await probe(fixture, "/b")
      #expect(second.servesRanges && !second.plan.resumes && second.plan.connections == 1)
      let allowed = try await probe(fixture, "/b") { $0.allowUnverified = true }
      #expect(allowed.plan.resumes && allowed.plan.connections == 4)
      #expect(try await probe(fixture, "/c").length == 0)
    }
  }

  @Test func `A failure is reported with its code; a temporary one is retried`() async throws {
    let gone = FaultScript.Resource("/gone", seed: 3, length: 9, faults: [Fault(.status(404))])
    let busy = FaultScript.Resource(
      "/busy", seed: 3, length: 9, faults: [Fault(.status(500), when: .request(1))])
    try await DownloadFixture.with([gone, busy]) { fixture in
      #expect(try await probe(fixture, "/busy").length == 9)
      do {
        _ = try await probe(fixture, "/gone")
        Issue.record("it is not there")
      } catch let error as TransferError {
        #expect(error.code == .notFound)
      }
    }
  }
}

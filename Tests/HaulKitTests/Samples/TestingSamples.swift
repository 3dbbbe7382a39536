import HaulKit
import HaulTesting
import Testing

// The samples of docs/library.md about testing. Unlike those of Samples.swift they are run, too.

struct MockTransport: Transport {
  let files: [String: [UInt8]]

  func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    guard let file = files[request.url.path] else {
      return FetchResponse(head: ResponseHead(status: 404, url: request.url), bytes: [UInt8]())
    }
    let head = ResponseHead(
      status: 200, headers: ["Content-Length": "\(file.count)"], url: request.url)
    return FetchResponse(head: head, bytes: file)
  }
}

/// The samples about testing.
@Suite(.timeLimit(.minutes(10))) struct TestingSamples {
  @Test func `a mock transport returns its bytes`() async throws {
    let transport = MockTransport(files: ["/a.txt": Array("hello".utf8)])
    let manager = try TransferManager(transport: transport)
    let url = try ResourceURL("https://example.com/a.txt")
    let stream = try await manager.add(.download(url, to: .stream))
    var received: [UInt8] = []
    for try await chunk in try await stream.bytes { received += chunk.bytes }
    #expect(received == Array("hello".utf8))
    await manager.shutdown()
  }

  @Test
  func `a retry waits only for the manual clock, and the file is on the simulated disk`()
    async throws
  {
    let file = FaultScript.Resource("/big.iso", length: 300_000, faults: [.status(503, times: 1)])
    try await withFaultServer([file]) { server in
      let (disk, clock) = (SimulatedDisk(), ManualClock())
      let manager = try TransferManager(testing: .init(), disk: disk, clock: clock)
      let events = manager.events()
      let url = try server.resourceURL("/big.iso")
      try await manager.add(.download(url, to: .file("/big.iso")))
      for await event in events {
        if case .attempt(_, _, let delay) = event.kind { clock.advance(by: delay) }  // due
        if case .finished = event.kind { break }
      }
      #expect(server.requests.map(\.status) == [503, 206])
      let isWhole = disk.contents(of: "/big.iso") == file.content
      #expect(isWhole)
      await manager.shutdown()
    }
  }
}

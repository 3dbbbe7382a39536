import HaulCore
import HaulKit
import HaulTesting
import Testing

/// A download that a reader reads in order.
@Suite(.timeLimit(.minutes(10)))
struct StreamTests {
  private static let window: Int64 = 4 << 20

  @Test
  func `While one of eight connections is held, the others fill the window, and no more`()
    async throws
  {
    let length: Int64 = 16 << 20
    let held = Fault(.stall(after: 10_000), when: .init(times: 1, offsetAtLeast: 1 << 20))
    try await DownloadFixture.serving(.file(length, held)) { fixture in
      let run = try await StreamRun(try fixture.stream(connections: 8), window: Self.window)
      let reader = Task { try await run.finish() }
      try await fixture.server.waitForHeld(resourcePath)
      try await until { run.bytes.bufferedBytes >= 2 << 20 }
      fixture.server.setFaults(resourcePath, [])
      fixture.server.release(resourcePath)
      try fixture.expectWhole(try await reader.value, length: length)
      #expect(run.bytes.peakBuffered <= Self.window)
      #expect(fixture.server.snapshot.maximumInProgress(resourcePath) > 1)
    }
  }

  @Test func `A reader that has not begun stops the network`() async throws {
    let length: Int64 = 8 << 20
    let resource = FaultScript.Resource.file(length)
    let silent = FaultScript.Resource(
      "/silent", seed: 1, length: 100, faults: [Fault(.stallBeforeHead)])
    try await DownloadFixture.with([resource, silent]) { fixture in
      let run = try await StreamRun(
        try fixture.stream(retries: 8), window: 1 << 20, idleTimeout: .milliseconds(200))
      let ends = run.manager.events()
      try await until { run.bytes.waiting > 0 }
      let requests = fixture.requests.count
      // Another transfer shows when the idle timeout of a server is over.
      let other = try await run.manager.add(
        try fixture.request("/silent") { $0.retry.retries = 0 })
      for await event in ends where event.id == other.id {
        if case .finished = event.kind { break }
      }
      #expect(fixture.requests.count == requests)
      // If the machine paused, there was more than one request before the window was full.
      #expect(fixture.server.snapshot.bytesSent(resourcePath) < length * Int64(requests))
      let outcome = try await run.finish()
      #expect(outcome.isBeginning(seed: 7, count: length))
      #expect(run.bytes.peakBuffered <= 1 << 20)
    }
  }

  @Test(arguments: [0, 1, 300_000] as [Int64])
  func `A body without an announced length, and an empty one, end correctly`(length: Int64)
    async throws
  {
    try await DownloadFixture.serving(.file(length, Fault(.ignoreRange, .chunked()))) { fixture in
      let run = try await StreamRun(try fixture.stream(connections: 4))
      try fixture.expectWhole(try await run.finish(), length: length)
    }
  }

  @Test(arguments: [1, 6])
  func `Lost connections are replaced, and no byte comes twice`(connections: Int) async throws {
    let length: Int64 = 6 << 20
    let breaks = Fault(.reset(after: 150_000), when: .init(times: 4))
    try await DownloadFixture.serving(.file(length, breaks)) { fixture in
      let request = try fixture.stream(connections: connections, retries: 8)
      let run = try await StreamRun(request, window: 2 << 20)
      let outcome = try await run.finish()
      try fixture.expectWhole(outcome, length: length)
      #expect(outcome.attempts > 0)
    }
  }

  @Test func `A reader that stops reading cancels the transfer`() async throws {
    try await DownloadFixture.serving(.file(8 << 20)) { fixture in
      let manager = try TransferManager()
      let events = manager.events()
      let transfer = try await manager.add(try fixture.stream())
      for try await chunk in try await manager.bytes(of: transfer) where chunk.count > 0 { break }
      var state: TransferResult.State?
      for await event in events {
        guard case .finished(let result) = event.kind else { continue }
        state = result.state
        break
      }
      #expect(state == .cancelled)
      await manager.shutdown()
    }
  }

  @Test func `A stream has one reader, and a file has none`() async throws {
    try await DownloadFixture.serving(.file()) { fixture in
      let manager = try TransferManager()
      let stream = try await manager.add(try fixture.stream())
      let bytes = try await manager.bytes(of: stream)
      await #expect(throws: TransferError.self) { _ = try await manager.bytes(of: stream) }
      let file = try await manager.add(try fixture.file())
      await #expect(throws: TransferError.self) { _ = try await manager.bytes(of: file) }
      #expect(bytes.bufferedBytes >= 0)
      await manager.shutdown()
    }
  }

  @Test func `A pause ends a stream, and its reader gets the reason`() async throws {
    try await DownloadFixture.serving(.file(512 * kibi, Fault(.stall(after: 100 * kibi)))) {
      fixture in
      let manager = try TransferManager()
      let bytes = try await manager.bytes(of: try await manager.add(try fixture.stream()))
      var (count, error): (Int64, TransferError?) = (0, nil)
      do {
        for try await chunk in bytes {
          count += Int64(chunk.count)
          if count == 100 * kibi { await manager.pauseAll() }
        }
      } catch let failure as TransferError {
        error = failure
      }
      #expect(count == 100 * kibi)
      #expect(error?.code == .interrupted)
      await manager.shutdown()
    }
  }

  @Test(arguments: [true, false])
  func `A stream paused before it began can be read after a resume`(isRead: Bool) async throws {
    try await DownloadFixture.serving(.file(300_000)) { fixture in
      try await fixture.withManager({ $0.isSuspended = true }) { manager in
        let transfer = try await manager.add(try fixture.stream())
        let early = isRead ? try await manager.bytes(of: transfer) : nil
        try await transfer.pause()
        try await transfer.resume()
        await manager.unsuspend()
        let bytes = if let early { early } else { try await manager.bytes(of: transfer) }
        var received: [UInt8] = []
        for try await chunk in bytes { received += chunk.bytes }
        #expect(received.count == 300_000 && SeededContent.matches(seed: 7, received))
        #expect(try await transfer.result.state == .completed)
      }
    }
  }

  @Test
  func `After a cancel or a shutdown the reader gets the error, and no buffered bytes`()
    async throws
  {
    for isShutdown in [false, true] {
      try await DownloadFixture.serving(.file(8 << 20)) { fixture in
        let manager = try TransferManager()
        let transfer = try await manager.add(try fixture.stream())
        let bytes = try await manager.bytes(of: transfer)
        var reader = bytes.makeAsyncIterator()
        let first = try await reader.next()
        #expect(first != nil)
        try await until { bytes.bufferedBytes > 1 << 20 }
        if isShutdown { await manager.shutdown() } else { try await transfer.cancel() }
        let error = await #expect(throws: TransferError.self) { _ = try await reader.next() }
        #expect(error?.code == (isShutdown ? .interrupted : .cancelled))
        #expect(bytes.bufferedBytes == 0)
        await manager.shutdown()
      }
    }
  }

  @Test
  func `A stream cancelled before it began throws that, and can be read anew after a retry`()
    async throws
  {
    try await DownloadFixture.serving(.file(300_000)) { fixture in
      try await fixture.withManager({ $0.isSuspended = true }) { manager in
        let transfer = try await manager.add(try fixture.stream())
        let early = try await manager.bytes(of: transfer)
        try await transfer.cancel()
        let error = await #expect(throws: TransferError.self) { for try await _ in early {} }
        #expect(error?.code == .cancelled)
        try await transfer.retry()
        let late = try await manager.bytes(of: transfer)
        await manager.unsuspend()
        var count = 0
        for try await chunk in late { count += chunk.count }
        #expect(count == 300_000)
        #expect(try await transfer.result.state == .completed)
      }
    }
  }
}

import FoundationEssentials

import HaulCore
import HaulKit
import HaulLibC
import HaulTesting
import Testing

@Suite struct TargetRaceTests {
  private static let length = 2 << 20

  /// Runs `request`, and `meanwhile` once its bytes are on disk; then releases the server.
  private func run(
    _ fixture: DownloadFixture, _ request: DownloadRequest, meanwhile: () async throws -> Void
  ) async throws -> DownloadFixture.Outcome {
    async let outcome = fixture.finish(request)
    try await fixture.server.waitForHeld("/f.bin", count: 2)
    try await meanwhile()
    fixture.server.setFaults("/f.bin", [])
    fixture.server.release()
    return try await outcome
  }

  @Test func `A file that appears meanwhile is kept, and the transfer fails and keeps its bytes`()
    async throws
  {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 65)]) { fixture in
      let request = try fixture.request("/f.bin", as: "f.bin")
      let outcome = try await run(fixture, request) { try fixture.put([1, 2, 3], as: "f.bin") }
      try fixture.expectFailure(.nameConflict, outcome)
      #expect(try fixture.contents("f.bin") == [1, 2, 3])
      #expect(try fixture.names() == ["f.bin", "f.bin.haul.journal", "f.bin.haul.part"])
      try FileManager.default.removeItem(atPath: fixture.path("f.bin"))
      let second = try await fixture.finish(request)
      try fixture.expectWhole("f.bin", seed: 65, length: Self.length, second)
      #expect(second.result.fetched == 0, "all bytes were on disk")
    }
  }

  @Test func `A refused addition frees its names`() async throws {
    let resources = ["/a/f.bin", "/b/f.bin"].map { FaultScript.Resource($0, length: 1000) }
    try await DownloadFixture.with(resources) { fixture in
      let manager = try TransferManager()
      var requests = try ["/a/f.bin", "/b/f.bin"].map {
        TransferRequest(.download(try fixture.request($0)))
      }
      requests[1].after = ["typo"]
      await #expect(throws: TransferError.self) { try await manager.add(requests) }
      requests[1].after = []
      for transfer in try await manager.add(requests) { _ = try await transfer.result }
      #expect(try fixture.names() == ["f (1).bin", "f.bin"])
      await manager.shutdown()
    }
  }

  @Test func `With a derived name, a file that appears meanwhile leads to a numbered name`()
    async throws
  {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 65)]) { fixture in
      let outcome = try await run(fixture, try fixture.request("/f.bin")) {
        try fixture.put([1, 2, 3], as: "f.bin")
        try fixture.put([4], as: "f (1).bin")
      }
      try fixture.expectWhole("f (2).bin", seed: 65, length: Self.length, outcome)
      #expect(outcome.result.path == fixture.path("f (2).bin"))
      #expect(try fixture.contents("f.bin") == [1, 2, 3])
      #expect(try fixture.contents("f (1).bin") == [4])
      #expect(try fixture.names() == ["f (1).bin", "f (2).bin", "f.bin"])
    }
  }

  @Test func `A directory that appears at the target is not replaced`() async throws {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 65)]) { fixture in
      let request = try fixture.request("/f.bin", as: "f.bin") { $0.ifExists = .overwrite }
      let outcome = try await run(fixture, request) {
        try FileManager.default.createDirectory(
          atPath: fixture.path("f.bin"), withIntermediateDirectories: true)
      }
      #expect(outcome.result.state == .failed)
      #expect([.notARegularFile, .nameConflict].contains(outcome.code), "\(outcome.result)")
      #expect(try fixture.names() == ["f.bin", "f.bin.haul.journal", "f.bin.haul.part"])
    }
  }

  @Test(arguments: [true, false])
  func `If two managers have one target, one completes and the other fails with inUse`(
    isExact: Bool
  ) async throws {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 66)]) { fixture in
      let request = try fixture.request("/f.bin", as: isExact ? "f.bin" : nil)
      let requests = fixture.server.snapshot
      let outcome = try await run(fixture, request) {
        try fixture.expectFailure(.inUse, try await fixture.finish(request), without: "f.bin")
      }
      #expect(requests.requests.isEmpty)
      try fixture.expectWhole("f.bin", seed: 66, length: Self.length, outcome)
      #expect(try fixture.names() == ["f.bin"])
    }
  }

  @Test func `Files of one run with the same derived name get different numbers`() async throws {
    let paths = ["/a/f.bin", "/b/f.bin"]
    try await DownloadFixture.with([.stalling(paths[0], seed: 1), .stalling(paths[1], seed: 2)]) {
      fixture in
      let server = fixture.server
      let requests = try paths.map { path in try fixture.request(path) { $0.connections = 1 } }
      let letGo = Task {
        for path in paths {
          try await server.waitForHeld(path)
          server.setFaults(path, [])
        }
        server.release()
      }
      let outcomes = try await fixture.withManager {
        try await fixture.finishAll(requests, with: $0)
      }
      try await letGo.value
      #expect(outcomes.allSatisfy { $0.result.state == .completed }, "\(outcomes)")
      #expect(try fixture.names() == ["f (1).bin", "f.bin"])
      for (outcome, seed) in zip(outcomes, [UInt64(1), 2]) {
        let name = try #require(outcome.result.path?.split(separator: "/").last)
        try fixture.expectWhole(String(name), seed: seed, length: Self.length, outcome)
      }
    }
  }

  @Test(arguments: [[], ["f.bin"], ["f.bin", "f (1).bin"]])
  func `Numbers of equal names follow the list order, whichever ends first or fails`(
    foreign: [String]
  ) async throws {
    let paths = ["/a/f.bin", "/b/f.bin", "/c/f.bin", "/d/f.bin"]
    let resources = paths.enumerated().map { number, path in
      FaultScript.Resource(path, seed: UInt64(number), length: Int64(Self.length))
    }
    try await DownloadFixture.with(resources) { fixture in
      for name in foreign { try fixture.put([1], as: name) }
      // The first and the third arrive late, or never.
      fixture.server.setFaults("/a/f.bin", [Fault(.status(404))])
      fixture.server.setFaults("/c/f.bin", [Fault(.stallBeforeHead)])
      let server = fixture.server
      let letGo = Task {
        try await server.waitUntil { $0.bytesSent("/d/f.bin") >= Int64(Self.length) }
        server.setFaults("/c/f.bin", [])
        server.release()
      }
      let requests = try paths.map { try fixture.request($0) }
      let outcomes = try await fixture.withManager {
        try await fixture.finishAll(requests, with: $0)
      }
      try await letGo.value
      let numbers = (0..<8).map { $0 == 0 ? "f.bin" : "f (\($0)).bin" }
      let free = numbers.filter { !foreign.contains($0) }
      #expect(outcomes.map(\.result.state) == [.failed, .completed, .completed, .completed])
      #expect(
        outcomes.dropFirst().map { $0.result.path?.split(separator: "/").last.map(String.init) }
          == free[1...3].map { $0 })
      // Again: each finds its own file, and the first one its name.
      fixture.server.setFaults("/a/f.bin", [])
      let again = try await fixture.withManager { try await fixture.finishAll(requests, with: $0) }
      #expect(
        again.map { $0.result.path?.split(separator: "/").last.map(String.init) }
          == free[0...3].map { $0 })
      #expect(again.dropFirst().allSatisfy { $0.result.fetched == 0 })
    }
  }

  @Test func `Interrupted files with the same name resume from their own bytes`() async throws {
    let paths = ["/a/f.bin", "/b/f.bin"]
    try await DownloadFixture.with([.stalling(paths[0], seed: 1), .stalling(paths[1], seed: 2)]) {
      fixture in
      let server = fixture.server
      let requests = try paths.map { path in try fixture.request(path) { $0.connections = 1 } }
      try await fixture.withManager { manager in
        let events = manager.events()
        let ids = Set(try await manager.add(requests).map(\.id))
        var there: Set<TransferID> = []
        for await event in events {
          guard case .progress(let progress) = event.kind, progress.bytes >= 256 << 10 else {
            continue
          }
          there.insert(event.id)
          if there == ids { break }
        }
        await manager.pauseAll()
      }
      for path in paths { server.setFaults(path, []) }
      // In the other order: whichever is first must not take the other's bytes.
      let outcomes = try await fixture.withManager {
        try await fixture.finishAll(requests.reversed(), with: $0)
      }
      #expect(outcomes.allSatisfy { $0.result.reused == 256 << 10 }, "\(outcomes)")
      #expect(try fixture.names() == ["f (1).bin", "f.bin"])
    }
  }

  @Test func `A second transfer with the same target fails, and the error shows the first address`()
    async throws
  {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 66), .stalling("/g.bin", seed: 67)]) {
      fixture in
      try await fixture.withManager { manager in
        let request = try fixture.request("/f.bin", as: "f.bin")
        // By another path, which only the disk knows to be the same.
        try FileManager.default.createSymbolicLink(
          atPath: fixture.path("link"), withDestinationPath: ".")
        let other = try fixture.request("/g.bin", as: "link/f.bin")
        let first = try await manager.add(request)
        let events = manager.events()
        try await fixture.server.waitForHeld("/f.bin", count: 2)
        let second = try await fixture.finish(other, with: manager)
        try fixture.expectFailure(.inUse, second, without: "f.bin")
        let message = second.result.error?.message
        #expect(message?.contains(request.url.redacted) == true, "\(message ?? "")")
        #expect(message?.contains("another process") == false)
        fixture.server.setFaults("/f.bin", [])
        fixture.server.release()
        for await event in events where event.id == first.id {
          if case .finished(let result) = event.kind {
            #expect(result.state == .completed)
            break
          }
        }
        // After its end, the name is free for others again.
        let third = try await fixture.finish(
          try fixture.request("/f.bin", as: "f.bin") { $0.ifExists = .overwrite }, with: manager)
        try fixture.expectWhole("f.bin", seed: 66, length: Self.length, third)
      }
    }
  }

  @Test func `A part file deleted during the run fails it, and the next run completes`()
    async throws
  {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 67)]) { fixture in
      let request = try fixture.request("/f.bin", as: "f.bin")
      let outcome = try await run(fixture, request) {
        try FileManager.default.removeItem(atPath: fixture.path("f.bin.haul.part"))
      }
      try fixture.expectFailure(.io, outcome, without: "f.bin")
      let second = try await fixture.finish(request)
      try fixture.expectWhole("f.bin", seed: 67, length: Self.length, second)
    }
  }

  @Test func `A part file replaced during the run is never published`() async throws {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 67)]) { fixture in
      let request = try fixture.request("/f.bin", as: "f.bin")
      let outcome = try await run(fixture, request) {
        try FileManager.default.removeItem(atPath: fixture.path("f.bin.haul.part"))
        try fixture.put([9, 9, 9], as: "f.bin.haul.part")
      }
      #expect(outcome.result.state == .failed, "\(outcome.result)")
      #expect(try !fixture.names().contains("f.bin"))
      #expect(try fixture.contents("f.bin.haul.part") == [9, 9, 9])
    }
  }

  @Test(arguments: DownloadRequest.Durability.allCases)
  func `Two programs with one address make one file, and without a validator one of them fails`(
    durability: DownloadRequest.Durability
  ) async throws {
    let held = Self.held.with { ($0.entityTag, $0.lastModified) = (nil, nil) }
    try await DownloadFixture.with([held]) { fixture in
      let request = try fixture.request("/two.bin") { $0.durability = durability }
      // Each has its own target reservations, like two processes.
      let managers = [try TransferManager(), try TransferManager()]
      var transfers: [Transfer] = []
      for manager in managers { transfers.append(try await manager.add(request)) }
      try await until { fixture.server.snapshot.requestCount("/two.bin") == 2 }
      fixture.server.setFaults("/two.bin", [])
      try await until {
        fixture.server.release("/two.bin")
        var ended = 0
        for transfer in transfers where await transfer.summary?.state.isEnded == true { ended += 1 }
        return ended == 2
      }
      var codes: [TransferError.Code?] = []
      for transfer in transfers { codes.append(await code(transfer)) }
      #expect(Set(codes) == [nil, .inUse], "\(codes)")
      #expect(try !fixture.names().contains("two (1).bin"))
      for manager in managers { await manager.shutdown() }
      // The same request again finds the existing file.
      let third = try await fixture.finish(request)
      try fixture.expectWhole("two.bin", seed: 2, length: 5000, third)
    }
  }

  private static let held = FaultScript.Resource(
    "/two.bin", seed: 2, length: 5000, faults: [Fault(.stall(after: 0))])

  @Test(arguments: DownloadRequest.Durability.allCases)
  func `A version that another program has published meanwhile is taken, and nothing is left`(
    durability: DownloadRequest.Durability
  ) async throws {
    try await DownloadFixture.with([Self.held]) { fixture in
      let request = try fixture.request("/two.bin") { $0.durability = durability }
      let slow = try TransferManager()
      let transfer = try await slow.add(request)
      try await fixture.server.waitForHeld("/two.bin")
      fixture.server.setFaults("/two.bin", [])
      let fast = try await fixture.finish(request)
      try fixture.expectWhole("two.bin", seed: 2, length: 5000, fast)
      fixture.server.release("/two.bin")
      #expect(await code(transfer) == nil)
      await slow.shutdown()
      #expect(try fixture.names() == ["two.bin"])
    }
  }

  @Test func `A part file truncated before publication is not filled with zeros`() async throws {
    try await DownloadFixture.with([FaultScript.Resource("/f.bin", seed: 67, length: 5000)]) {
      fixture in
      let request = try fixture.request("/f.bin", as: "f.bin")
      let part = fixture.path("f.bin.haul.part")
      let outcome = try await fixture.run(
        request, configure: { $0.hooks.willPublish = { _ in truncate(part, 100) } })
      try fixture.expectFailure(.io, outcome, without: "f.bin")
      let second = try await fixture.finish(request)
      try fixture.expectWhole("f.bin", seed: 67, length: 5000, second)
    }
  }

  @Test func `A directory that is deleted during the run fails the download`() async throws {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 67)]) { fixture in
      try FileManager.default.createDirectory(
        atPath: fixture.path("sub"), withIntermediateDirectories: true)
      let outcome = try await run(fixture, try fixture.request("/f.bin", as: "sub/f.bin")) {
        try FileManager.default.removeItem(atPath: fixture.path("sub"))
      }
      #expect(outcome.result.state == .failed, "\(outcome.result)")
      #expect(outcome.result.bytes == 0, "none can be used")
      #expect(try fixture.names().isEmpty, "the directory is not created again")
    }
  }
}

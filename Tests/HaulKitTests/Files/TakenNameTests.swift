import FoundationEssentials
import HaulCore
import HaulKit
import HaulLibC
import HaulTesting
import Testing

@Suite struct TakenNameTests {
  enum Taker: CaseIterable, Sendable { case directory, link, danglingLink, fifo }

  private func take(_ path: String, by taker: Taker, in fixture: DownloadFixture) throws {
    let files = FileManager.default
    switch taker {
    case .directory: try files.createDirectory(atPath: path, withIntermediateDirectories: false)
    case .link:
      try fixture.put([7], as: "other")
      try files.createSymbolicLink(atPath: path, withDestinationPath: fixture.path("other"))
    case .danglingLink:
      try files.createSymbolicLink(atPath: path, withDestinationPath: fixture.path("nowhere"))
    case .fifo: try #require(mkfifo(path, 0o600) == 0)
    }
  }

  @Test(arguments: Taker.allCases, [DownloadRequest.IfExists.update, .rename])
  func `A derived name that something else has gets a number`(
    taker: Taker, ifExists: DownloadRequest.IfExists
  ) async throws {
    let file = FaultScript.Resource("/f.bin", seed: 71, length: 5_000)
    try await DownloadFixture.with([file]) { fixture in
      for name in ["f.bin", "f (1).bin"] {
        try take(fixture.path(name), by: taker, in: fixture)
      }
      let before = try fixture.names()
      let request = try fixture.request("/f.bin") { $0.ifExists = ifExists }
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole("f (2).bin", seed: 71, length: 5_000, outcome)
      #expect(try fixture.names() == (before + ["f (2).bin"]).sorted())
      if ifExists == .update {
        #expect(try await fixture.finish(request).result.fetched == 0)
        #expect(try fixture.names() == (before + ["f (2).bin"]).sorted())
      }
    }
  }
}

import FoundationEssentials
import GRDB
import HaulCore
import HaulKit
import HaulStore
import HaulTesting
import Testing

/// What an older version left: a list, and the files beside it, written by its daemon until it was
/// killed. `Tests/OlderVersion/make.py` says how they were made.
@Suite(.timeLimit(.minutes(10))) struct OlderVersionTests {
  private static let left = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "OlderVersion")
  /// Names, seeds and lengths of the downloads.
  private static let downloads: [(name: String, seed: UInt64, length: Int64)] = [
    ("done", 1, 2000), ("paused", 2, 40_000), ("killed", 3, 40_000), ("waiting", 4, 3000),
    ("after", 5, 3000), ("one", 6, 3000), ("two", 7, 3000), ("failed", 8, 3000),
  ]
  private static let sent: (seed: UInt64, length: Int) = (9, 3000)

  @Test func `A list and part files of an older version are finished by this one`() async throws {
    let scratch = Scratch()
    let directory = scratch.base + "/files"
    try copy("list", to: scratch.path)
    try copy("files", to: directory)
    try replaceDirectory(by: directory, in: scratch)
    let (seed, length) = Self.sent
    let source = SeededContent(seed: seed).bytes(at: 0, count: length)
    try Data(source).write(to: URL(filePath: directory + "/sent.bin"))
    let resources = Self.downloads.map { name, seed, length in
      FaultScript.Resource("/\(name).bin", seed: seed, length: length)
    }
    let target = FaultScript.Resource("/sent.bin", length: 0)
    try await withFaultServer(resources + [target]) { server in
      try await finish(scratch.path, server)
      for (name, seed, length) in Self.downloads {
        let path = name == "after" ? "later/after.bin" : "\(name).bin"
        let bytes = try Data(contentsOf: URL(filePath: "\(directory)/\(path)"))
        #expect(bytes.count == length && SeededContent.matches(seed: seed, bytes), "\(name)")
      }
      let names = try FileManager.default.contentsOfDirectory(atPath: directory)
      #expect(!names.contains { $0.hasSuffix(".haul.part") || $0.hasSuffix(".haul.journal") })
      check(server, sent: source)
    }
  }

  /// Opens the list, compares it with what the older version showed, and runs it to its end.
  private func finish(_ list: String, _ server: FaultServer) async throws {
    var configuration = TransferManager.Configuration()
    configuration.isSuspended = true
    configuration.waitsForNetwork = false
    configuration.connectTimeout = .seconds(60)
    configuration.proxies = ProxyRules(try ProxyRules.Proxy(server.origin))
    try await withTransferManager(directory: list, configuration) { manager in
      let summaries = await manager.summaries()
      #expect(
        summaries.map(\.identifier) == [
          "done", "failed", "paused", "killed", "waiting", "after", "one", "two", "sent", "program",
        ])
      let states: [TransferState] = [.completed, .failed, .paused]
      #expect(summaries.map(\.state) == states + Array(repeating: .queued, count: 7))
      #expect(summaries.map(\.priority).firstIndex(of: .utility) == 4)
      #expect(await manager.summaries(of: .group("album")).map(\.identifier) == ["one", "two"])
      _ = try await manager.resume(.all)
      _ = try await manager.retry(.filter { $0.state == .failed })
      await manager.unsuspend()
      for transfer in try await manager.transfers() {
        let result = try await transfer.result
        #expect(result.state == .completed, "\(transfer.identifier ?? "")")
        switch transfer.identifier {
        case "paused", "killed":
          #expect(result.reused > 20_000 && result.reused + result.fetched == 40_000)
          let path = transfer.identifier.map { "/\($0).bin" } ?? ""
          #expect(server.snapshot.bytesSent(path) == result.fetched, "\(path)")
        case "waiting": #expect(result.verified == .checksum)
        default: break
        }
      }
    }
  }

  private func check(_ server: FaultServer, sent: [UInt8]) {
    let snapshot = server.snapshot
    #expect(snapshot.requestCount("/done.bin") == 0)
    #expect(snapshot.requests("/sent.bin").contains { $0.body == sent })
    let waiting = snapshot.requests("/waiting.bin").first
    #expect(waiting?.header("X-Key") == "a secret")
    #expect(waiting?.header("Authorization") == "Basic bWU6c2VjcmV0")
    let paths = snapshot.requests.map(\.path)
    let (killed, after) = (paths.lastIndex(of: "/killed.bin"), paths.firstIndex(of: "/after.bin"))
    #expect(killed.flatMap { killed in after.map { killed < $0 } } == true)
  }

  /// For its owner only, as Haul makes them; a repository keeps no such modes.
  private func copy(_ name: String, to path: String) throws {
    let files = FileManager.default
    let left = Self.left.appending(path: name).path
    try files.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    for file in try files.contentsOfDirectory(atPath: left) {
      try files.copyItem(atPath: "\(left)/\(file)", toPath: "\(path)/\(file)")
      try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(path)/\(file)")
    }
  }

  private func replaceDirectory(by directory: String, in scratch: Scratch) throws {
    try scratch.sql { database in
      let tables = try String.fetchAll(
        database, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
      for table in tables {
        for column in try database.columns(in: table).map(\.name) {
          try database.execute(
            sql: """
              UPDATE "\(table)" SET "\(column)" = replace("\(column)", '@DIRECTORY@', ?)
              WHERE typeof("\(column)") = 'text' AND instr("\(column)", '@DIRECTORY@')
              """, arguments: [directory])
        }
      }
    }
  }
}

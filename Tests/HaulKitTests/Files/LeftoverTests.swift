import FoundationEssentials
import HaulCore
import HaulTesting
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Case 67, between two runs, and part files and journals that may be another program's.
@Suite struct LeftoverTests {
  private static let length = 2 << 20
  fileprivate static let part = "f.bin.haul.part"
  fileprivate static let journal = "f.bin.haul.journal"

  enum Damage: String, CaseIterable, Sendable {
    case partDeleted, partTruncated, partEmptied, partReplaced, partReplacedShorter, partOverwritten
    case journalDeleted, journalTruncated, journalEmptied, bothDeleted
  }

  private func apply(_ damage: Damage, _ bench: DownloadFixture) throws {
    func remove(_ name: String) throws {
      try FileManager.default.removeItem(atPath: bench.path(name))
    }
    func cut(_ name: String, to count: Int) throws {
      let bytes = try bench.contents(name)
      let handle = try #require(fopen(bench.path(name), "r+"))
      defer { fclose(handle) }
      try #require(ftruncate(fileno(handle), min(count, bytes.count)) == 0)
    }
    func replace(_ count: Int) throws {
      try remove(Self.part)
      try bench.put([UInt8](repeating: 0xAA, count: count), as: Self.part)
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: bench.path(Self.part))
    }
    switch damage {
    case .partDeleted: try remove(Self.part)
    case .partTruncated: try cut(Self.part, to: 100_000)
    case .partEmptied: try cut(Self.part, to: 0)
    case .partReplaced: try replace(Self.length)
    case .partReplacedShorter: try replace(100)
    case .partOverwritten:
      // As if the part file was removed and another file got its inode.
      let handle = try #require(fopen(bench.path(Self.part), "r+"))
      defer { fclose(handle) }
      let bytes = [UInt8](repeating: 0xAA, count: Self.length)
      try #require(fwrite(bytes, 1, bytes.count, handle) == bytes.count)
    case .journalDeleted: try remove(Self.journal)
    case .journalTruncated: try cut(Self.journal, to: try bench.contents(Self.journal).count - 3)
    case .journalEmptied: try cut(Self.journal, to: 0)
    case .bothDeleted:
      try remove(Self.part)
      try remove(Self.journal)
    }
  }

  @Test(arguments: Damage.allCases)
  func `A damaged, replaced or deleted part file or journal still leads to the right file`(
    damage: Damage
  ) async throws {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 67)]) { bench in
      let request = try bench.request("/f.bin", as: "f.bin")
      try await bench.interrupt(request, path: "/f.bin")
      try apply(damage, bench)
      bench.server.setFaults("/f.bin", [])
      let outcome = try await bench.finish(request)
      try bench.expectWhole("f.bin", seed: 67, length: Self.length, outcome)
      #expect(try bench.names() == ["f.bin"])
    }
  }

  @Test func `A user's file with the name of a part file is not touched`() async throws {
    let file = FaultScript.Resource("/f.bin", seed: 67, length: 100_000)
    try await DownloadFixture.with([file]) { bench in
      let own: [UInt8] = [1, 2, 3]
      try bench.put(own, as: Self.part)
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: bench.path(Self.part))
      for name in ["f.bin", nil] {
        let outcome = try await bench.finish(try bench.request("/f.bin", as: name))
        try bench.expectFailure(.nameConflict, outcome, without: "f.bin")
        #expect(outcome.result.error?.message.contains(Self.part) == true)
        #expect(try bench.names() == [Self.part])
        #expect(try bench.contents(Self.part) == own)
      }
    }
  }

  enum LeftoverKind: String, CaseIterable, Sendable {
    case partMode, journalMode, partLink, journalLink, partHardLink, journalHardLink
    case partDirectory, journalDirectory, journalForeign

    var name: String { rawValue.hasPrefix("part") ? LeftoverTests.part : LeftoverTests.journal }
  }

  private func apply(_ plant: LeftoverKind, _ bench: DownloadFixture) throws {
    let manager = FileManager.default
    let path = bench.path(plant.name)
    switch plant {
    case .partMode, .journalMode:
      try manager.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
    case .partLink, .journalLink:
      try manager.moveItem(atPath: path, toPath: bench.path("elsewhere"))
      try manager.createSymbolicLink(atPath: path, withDestinationPath: bench.path("elsewhere"))
    case .partHardLink, .journalHardLink:
      try manager.linkItem(atPath: path, toPath: bench.path("elsewhere"))
    case .partDirectory, .journalDirectory:
      try manager.removeItem(atPath: path)
      try manager.createDirectory(atPath: path, withIntermediateDirectories: true)
    case .journalForeign:
      try bench.put(Array("a diary, and no journal of ours\n".utf8), as: plant.name)
    }
  }

  @Test(arguments: LeftoverKind.allCases)
  func `A part file or journal that may be foreign is refused and not touched`(
    plant: LeftoverKind
  ) async throws {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 4)]) { bench in
      let request = try bench.request("/f.bin", as: "f.bin")
      try await bench.interrupt(request, path: "/f.bin")
      try apply(plant, bench)
      bench.server.setFaults("/f.bin", [])
      let names = try bench.names()
      let inodes = try names.map { try bench.inode($0) }
      let bytes = names.map { try? bench.contents($0) }
      let requests = bench.server.snapshot.requests.count
      for startOver in [false, true] {
        let outcome = try await bench.finish(
          try bench.request("/f.bin", as: "f.bin") { $0.startOver = startOver })
        try bench.expectFailure(.nameConflict, outcome, without: "f.bin")
      }
      #expect(bench.server.snapshot.requests.count == requests)
      #expect(try bench.names() == names)
      #expect(try names.map { try bench.inode($0) } == inodes)
      #expect(names.map { try? bench.contents($0) } == bytes)
    }
  }
}

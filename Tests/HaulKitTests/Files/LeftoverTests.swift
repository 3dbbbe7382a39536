import FoundationEssentials
import HaulCore
import HaulLibC
import HaulTesting
import Testing

/// Case 67, between two runs, and part files and journals that may be another program's.
@Suite struct LeftoverTests {
  private static let length = 2 << 20
  fileprivate static let part = "f.bin.haul.part"
  fileprivate static let journal = "f.bin.haul.journal"

  enum Damage: String, CaseIterable, Sendable {
    case partDeleted, partTruncated, partEmptied, partReplaced, partReplacedShorter, partOverwritten
    case journalDeleted, journalTruncated, journalEmptied, bothDeleted
  }

  private func apply(_ damage: Damage, _ fixture: DownloadFixture) throws {
    func remove(_ name: String) throws {
      try FileManager.default.removeItem(atPath: fixture.path(name))
    }
    func cut(_ name: String, to count: Int) throws {
      let bytes = try fixture.contents(name)
      let handle = try #require(fopen(fixture.path(name), "r+"))
      defer { fclose(handle) }
      try #require(ftruncate(fileno(handle), min(count, bytes.count)) == 0)
    }
    func replace(_ count: Int) throws {
      try remove(Self.part)
      try fixture.put([UInt8](repeating: 0xAA, count: count), as: Self.part)
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: fixture.path(Self.part))
    }
    switch damage {
    case .partDeleted: try remove(Self.part)
    case .partTruncated: try cut(Self.part, to: 100_000)
    case .partEmptied: try cut(Self.part, to: 0)
    case .partReplaced: try replace(Self.length)
    case .partReplacedShorter: try replace(100)
    case .partOverwritten:
      // As if the part file was removed and another file got its inode.
      let handle = try #require(fopen(fixture.path(Self.part), "r+"))
      defer { fclose(handle) }
      let bytes = [UInt8](repeating: 0xAA, count: Self.length)
      try #require(fwrite(bytes, 1, bytes.count, handle) == bytes.count)
    case .journalDeleted: try remove(Self.journal)
    case .journalTruncated: try cut(Self.journal, to: try fixture.contents(Self.journal).count - 3)
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
    try await DownloadFixture.with([.stalling("/f.bin", seed: 67)]) { fixture in
      let request = try fixture.request("/f.bin", as: "f.bin")
      try await fixture.interrupt(request, path: "/f.bin")
      try apply(damage, fixture)
      fixture.server.setFaults("/f.bin", [])
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole("f.bin", seed: 67, length: Self.length, outcome)
      #expect(try fixture.names() == ["f.bin"])
    }
  }

  @Test func `A user's file with the name of a part file is not touched`() async throws {
    let file = FaultScript.Resource("/f.bin", seed: 67, length: 100_000)
    try await DownloadFixture.with([file]) { fixture in
      let own: [UInt8] = [1, 2, 3]
      try fixture.put(own, as: Self.part)
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: fixture.path(Self.part))
      for name in ["f.bin", nil] {
        let outcome = try await fixture.finish(try fixture.request("/f.bin", as: name))
        try fixture.expectFailure(.nameConflict, outcome, without: "f.bin")
        #expect(outcome.result.error?.message.contains(Self.part) == true)
        #expect(try fixture.names() == [Self.part])
        #expect(try fixture.contents(Self.part) == own)
      }
    }
  }

  enum LeftoverKind: String, CaseIterable, Sendable {
    case partMode, journalMode, partLink, journalLink, partHardLink, journalHardLink
    case partDirectory, journalDirectory, journalForeign

    var name: String { rawValue.hasPrefix("part") ? LeftoverTests.part : LeftoverTests.journal }
  }

  private func apply(_ plant: LeftoverKind, _ fixture: DownloadFixture) throws {
    let manager = FileManager.default
    let path = fixture.path(plant.name)
    switch plant {
    case .partMode, .journalMode:
      try manager.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
    case .partLink, .journalLink:
      try manager.moveItem(atPath: path, toPath: fixture.path("elsewhere"))
      try manager.createSymbolicLink(atPath: path, withDestinationPath: fixture.path("elsewhere"))
    case .partHardLink, .journalHardLink:
      try manager.linkItem(atPath: path, toPath: fixture.path("elsewhere"))
    case .partDirectory, .journalDirectory:
      try manager.removeItem(atPath: path)
      try manager.createDirectory(atPath: path, withIntermediateDirectories: true)
    case .journalForeign:
      try fixture.put(Array("a diary, and no journal of ours\n".utf8), as: plant.name)
    }
  }

  @Test(arguments: LeftoverKind.allCases)
  func `A part file or journal that may be foreign is refused and not touched`(
    plant: LeftoverKind
  ) async throws {
    try await DownloadFixture.with([.stalling("/f.bin", seed: 4)]) { fixture in
      let request = try fixture.request("/f.bin", as: "f.bin")
      try await fixture.interrupt(request, path: "/f.bin")
      try apply(plant, fixture)
      fixture.server.setFaults("/f.bin", [])
      let names = try fixture.names()
      let inodes = try names.map { try fixture.inode($0) }
      let bytes = names.map { try? fixture.contents($0) }
      let requests = fixture.server.snapshot.requests.count
      for startOver in [false, true] {
        let outcome = try await fixture.finish(
          try fixture.request("/f.bin", as: "f.bin") { $0.startOver = startOver })
        try fixture.expectFailure(.nameConflict, outcome, without: "f.bin")
      }
      #expect(fixture.server.snapshot.requests.count == requests)
      #expect(try fixture.names() == names)
      #expect(try names.map { try fixture.inode($0) } == inodes)
      #expect(names.map { try? fixture.contents($0) } == bytes)
    }
  }
}

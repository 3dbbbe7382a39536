import Foundation
import HaulCore
import HaulTesting
import Testing

/// Unusable targets, on the real file system.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct UnusableTargetRuns {
  enum Defect: String, CaseIterable, CustomTestStringConvertible {
    case directory, symlink, danglingSymlink, fifo, device

    var testDescription: String { rawValue }

    /// Creates it under the target's name.
    func plant(at path: String) throws {
      let manager = FileManager.default
      switch self {
      case .directory:
        try manager.createDirectory(atPath: path, withIntermediateDirectories: false)
      case .symlink:
        try manager.createSymbolicLink(atPath: path, withDestinationPath: "/etc/hostname")
      case .danglingSymlink:
        try manager.createSymbolicLink(atPath: path, withDestinationPath: "not-there")
      case .fifo: try #require(mkfifo(path, 0o600) == 0)
      // The device numbers of /dev/null.
      case .device: try #require(mknod(path, S_IFCHR | 0o600, 0x103) == 0)
      }
    }
  }

  @Test(arguments: Defect.allCases.filter { $0 != .device || canMakeDevices })
  func `A target that is no regular file is refused and kept; without it, the download completes`(
    defect: Defect
  ) async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let options = ["-o", "file.bin"]
      _ = try await fixture.interrupt(options)
      try defect.plant(at: fixture.path("file.bin"))
      let before = try Kind(of: fixture.path("file.bin"))
      let asked = fixture.server.snapshot.requests.count
      let result = try await fixture.get("/file.bin", "-o", "file.bin")
      try result.expectFailed(.notARegularFile)
      #expect(fixture.server.snapshot.requests.count == asked)
      #expect(try Kind(of: fixture.path("file.bin")) == before)
      try FileManager.default.removeItem(atPath: fixture.path("file.bin"))
      try await fixture.expectGoesOn(options)
    }
  }

  @Test func `A device as a target is refused, and no file is left beside it`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      try await fixture.get("/file.bin", "-o", "/dev/full").expectFailed(.notARegularFile)
      #expect(
        try !FileManager.default.contentsOfDirectory(atPath: "/dev").contains {
          $0.contains(".haul.")
        })
    }
  }

  @Test func `A file in place of a directory of the path is refused`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      try Data().write(to: URL(filePath: fixture.path("d")))
      for options in [["-d", "d"], ["-o", "d/x"]] {
        let result = try await fixture.haul(
          ["get", "--json", fixture.server.url("/file.bin")] + options)
        try result.expectFailed(.notARegularFile)
      }
    }
  }

  @Test
  func `The target's directory is removed during the run: it fails, and can be run again`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file("/file.bin", .always(.stall(after: 1 << 20))))
    {
      fixture in
      let run = try await fixture.start("/file.bin", "--json", "-d", "d")
      try await run.reach(bytes: 1 << 20)
      try FileManager.default.removeItem(atPath: fixture.path("d"))
      fixture.server.release("/file.bin")
      let result = await run.end()
      try result.expectFailed(.io)
      #expect(try fixture.names() == [])
      fixture.server.setFaults("/file.bin", [])
      #expect(try await fixture.get("/file.bin", "-d", "d").status == 0)
      try fixture.expectWhole("d/file.bin")
    }
  }

  @Test(arguments: [false, true])
  func `A directory that is renamed during the run: no file is reported under the old path`(
    isReplaced: Bool
  ) async throws {
    try await CommandFixture.with(CommandFixture.file("/file.bin", .always(.stall(after: 1 << 20))))
    {
      fixture in
      let run = try await fixture.start("/file.bin", "--json", "-d", "d")
      try await run.reach(bytes: 1 << 20)
      try FileManager.default.moveItem(atPath: fixture.path("d"), toPath: fixture.path("moved"))
      if isReplaced {
        try FileManager.default.createDirectory(
          atPath: fixture.path("d"), withIntermediateDirectories: false)
      }
      fixture.server.release("/file.bin")
      try (await run.end()).expectFailed(.io)
      if isReplaced { try FileManager.default.removeItem(atPath: fixture.path("d")) }
      try FileManager.default.moveItem(atPath: fixture.path("moved"), toPath: fixture.path("d"))
      fixture.server.setFaults("/file.bin", [])
      #expect(try await fixture.get("/file.bin", "-d", "d").status == 0)
      try fixture.expectWhole("d/file.bin")
    }
  }

  @Test
  func `Two processes with one target: one succeeds, the other reports that it is in use`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file("/file.bin", .always(.stall(after: 1 << 20))))
    {
      fixture in
      let first = try await fixture.start("/file.bin", "--json", "-o", "file.bin")
      try await first.reach(bytes: 1 << 20)
      try await fixture.get("/file.bin", "-o", "file.bin").expectFailed(.inUse)
      fixture.server.release("/file.bin")
      let result = await first.end()
      #expect(result.status == 0)
      #expect(try result.events().finished.count == 1)
      try fixture.expectWhole()
      #expect(try fixture.names() == ["file.bin"])
    }
  }

  enum UnusablePart: String, CaseIterable, CustomTestStringConvertible {
    case otherUser, groupWritable, othersWritable, symlink
    var testDescription: String { rawValue }

    func plant(at path: String) throws {
      let manager = FileManager.default
      if self == .symlink {
        let other = path + ".elsewhere"
        try manager.moveItem(atPath: path, toPath: other)
        try manager.createSymbolicLink(atPath: path, withDestinationPath: other)
        return
      }
      let mode = self == .groupWritable ? 0o620 : self == .othersWritable ? 0o602 : 0o600
      try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
      if self == .otherUser { try #require(chown(path, 12_345, 12_345) == 0) }
    }
  }

  @Test(
    arguments: UnusablePart.allCases.filter { $0 != .otherUser || isRoot }, ["part", "journal"])
  func `A part file or journal of another user, writable by others or a symlink is not touched`(
    planted: UnusablePart, name: String
  ) async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      _ = try await fixture.interrupt(["-o", "file.bin"])
      try planted.plant(at: fixture.path("file.bin.haul.\(name)"))
      let names = try fixture.names()
      let before = try names.map { try Kind(of: fixture.path($0)) }
      let bytes = try names.map { try fixture.contents($0) }
      let asked = fixture.server.snapshot.requests.count
      try await fixture.get("/file.bin", "-o", "file.bin").expectFailed(.nameConflict)
      #expect(fixture.server.snapshot.requests.count == asked)
      #expect(try fixture.names() == names)
      #expect(try names.map { try Kind(of: fixture.path($0)) } == before)
      #expect(try names.map { try fixture.contents($0) } == bytes)
    }
  }

  static let isRoot = geteuid() == 0

  /// In a container, even root may not be allowed to.
  static let canMakeDevices: Bool = {
    let path = FileManager.default.temporaryDirectory.path + "/haul-device-\(UUID().uuidString)"
    defer { unlink(path) }
    return mknod(path, S_IFCHR | 0o600, 0x103) == 0
  }()

  /// The values that show whether a name was touched.
  struct Kind: Equatable {
    let values: [String]

    init(of path: String) throws {
      // Of the name itself, also if it is a link.
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      let keys: [FileAttributeKey] = [
        .type, .posixPermissions, .ownerAccountID, .systemFileNumber, .size, .modificationDate,
      ]
      values = keys.map { attributes[$0].map { "\($0)" } ?? "" }
    }
  }
}

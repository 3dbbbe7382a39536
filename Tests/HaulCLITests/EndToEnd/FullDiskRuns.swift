import Foundation
import HaulCore
import HaulTesting
import Testing

/// A separate small disk.
@Suite(
  .serialized, .timeLimit(.minutes(10)),
  .enabled(if: SmallDisk.isPossible, "mounting a tmpfs needs root and a kernel that lets it"))
struct FullDiskRuns {
  @Test
  func `A known length without room is refused before the body; with room it completes`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let disk = try SmallDisk(at: fixture.path("disk"), size: "2m")
      defer { disk.unmount() }
      let result = try await fixture.get("/file.bin", "-o", "disk/file.bin")
      try result.expectFailed(.diskFull)
      #expect(try result.events().finished.first?["fetched"] == .integer(0))
      #expect(try !fixture.names("disk").contains("file.bin"))
      try disk.resize(to: "16m")
      #expect(try await fixture.get("/file.bin", "-o", "disk/file.bin").status == 0)
      try fixture.expectWhole("disk/file.bin")
    }
  }

  @Test
  func `An unknown length fails when the disk is full, keeps its bytes, and resumes with room`()
    async throws
  {
    let fault = Fault(.ignoreRange, .chunked())
    try await CommandFixture.with(CommandFixture.file("/file.bin", fault)) { fixture in
      let disk = try SmallDisk(at: fixture.path("disk"), size: "2m")
      defer { disk.unmount() }
      let result = try await fixture.get("/file.bin", "-o", "disk/file.bin")
      try result.expectFailed(.diskFull)
      #expect(try fixture.names("disk") == ["file.bin.haul.journal", "file.bin.haul.part"])
      try disk.resize(to: "16m")
      let again = try await fixture.get("/file.bin", "-o", "disk/file.bin")
      #expect(again.status == 0, "\(again.errors)")
      let end = try #require(try again.events().finished.first)
      #expect(end["reused"] == .integer(0), "without ranges every byte is downloaded again")
      try fixture.expectWhole("disk/file.bin")
    }
  }

  @Test
  func `A read-only file system is reported; when it is writable again, the download resumes`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let disk = try SmallDisk(at: fixture.path("disk"), size: "16m")
      defer { disk.unmount() }
      let options = ["-o", "disk/file.bin"]
      _ = try await fixture.interrupt(options)
      try disk.setReadOnly(true)
      let asked = fixture.server.snapshot.requests.count
      let result = try await fixture.get("/file.bin", "-o", "disk/file.bin")
      try result.expectFailed(.permissionDenied)
      let below = try await fixture.haul(["get", fixture.server.url("/file.bin"), "-d", "disk/sub"])
      let reason = "cannot make the directory disk/sub: Read-only file system"
      #expect(below.status == 1 && below.errors.contains(reason), "\(below.errors)")
      #expect(fixture.server.snapshot.requests.count == asked)
      try disk.setReadOnly(false)
      try await fixture.expectGoesOn(options, as: "disk/file.bin")
    }
  }
}

@Suite struct ForbiddenDirectory {
  @Test(.enabled(if: !SmallDisk.isAllMighty, "this process may write anywhere"))
  func `A read-only directory is reported; when it is writable again, the download resumes`()
    async throws
  {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let options = ["-d", "d"]
      _ = try await fixture.interrupt(options)
      try #require(rename(fixture.path("d/file.bin.haul.part"), fixture.path("part")) == 0)
      try #require(chmod(fixture.path("d"), 0o500) == 0)
      try await fixture.get("/file.bin", "-d", "d").expectFailed(.permissionDenied)
      try #require(chmod(fixture.path("d"), 0o700) == 0)
      try #require(rename(fixture.path("part"), fixture.path("d/file.bin.haul.part")) == 0)
      try await fixture.expectGoesOn(options, as: "d/file.bin")
    }
  }
}

/// A tmpfs of a given size, mounted until `unmount`.
struct SmallDisk: Sendable {
  let path: String

  init(at path: String, size: String) throws {
    self.path = path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try #require(mount("tmpfs", path, "tmpfs", 0, "size=\(size)") == 0)
  }

  func resize(to size: String) throws {
    try #require(mount(nil, path, nil, UInt(MS_REMOUNT), "size=\(size)") == 0)
  }

  func setReadOnly(_ isReadOnly: Bool) throws {
    let flags = MS_REMOUNT | (isReadOnly ? MS_RDONLY : 0)
    try #require(mount(nil, path, nil, UInt(flags), nil) == 0)
  }

  func unmount() { #expect(umount2(path, Int32(MNT_DETACH)) == 0) }

  /// Whether this process may write where the mode of a directory forbids it, like the superuser
  /// with all capabilities.
  static let isAllMighty: Bool = {
    let path = FileManager.default.temporaryDirectory.path + "/haul-closed-\(UUID().uuidString)"
    guard mkdir(path, 0o500) == 0 else { return false }
    defer { rmdir(path) }
    return access(path, W_OK) == 0
  }()

  /// Whether this process may mount; tried once.
  static let isPossible: Bool = {
    guard geteuid() == 0 else { return false }
    let path = FileManager.default.temporaryDirectory.path + "/haul-mount-\(UUID().uuidString)"
    defer { rmdir(path) }
    guard mkdir(path, 0o700) == 0, mount("tmpfs", path, "tmpfs", 0, nil) == 0 else { return false }
    return umount2(path, 0) == 0
  }()
}

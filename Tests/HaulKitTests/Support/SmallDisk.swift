import FoundationEssentials
import HaulLibC
import Testing

/// A file system of a few pages in memory, for tests that need a full or read-only one.
///
/// It needs the privilege to mount; without it, tests that use it are skipped.
enum SmallDisk {
  /// Whether this process may mount.
  static let isPossible: Bool = {
    let path = FileManager.default.temporaryDirectory
      .appending(path: "haul-mount-\(UUID().uuidString)").path
    guard mkdir(path, 0o700) == 0 else { return false }
    defer { rmdir(path) }
    guard make(path, bytes: 65_536) else { return false }
    return remove(path)
  }()

  /// Whether this process may write where the mode of a directory forbids it, like the superuser
  /// with all capabilities.
  static let isAllMighty: Bool = {
    let path = FileManager.default.temporaryDirectory
      .appending(path: "haul-closed-\(UUID().uuidString)").path
    guard mkdir(path, 0o500) == 0 else { return false }
    defer { rmdir(path) }
    return access(path, W_OK) == 0
  }()

  static func make(_ path: String, bytes: Int, isReadOnly: Bool = false) -> Bool {
    change(path, bytes, isReadOnly ? 1 : 0)
  }

  /// Changes its size; its contents stay.
  static func resize(_ path: String, bytes: Int) -> Bool {
    change(path, bytes, 32)
  }

  /// Mounts one directory over another, like its file system.
  static func bind(_ path: String, to other: String) -> Bool {
    #if canImport(Glibc)
      mount(path, other, nil, 4096, nil) == 0
    #else
      false
    #endif
  }

  static func remove(_ path: String) -> Bool {
    #if canImport(Glibc)
      umount2(path, 2) == 0
    #else
      false
    #endif
  }

  /// `flags` of mount(2): 1 is read-only, 32 is a change of an existing mount.
  private static func change(_ path: String, _ bytes: Int, _ flags: UInt) -> Bool {
    #if canImport(Glibc)
      "size=\(bytes)".withCString { mount("tmpfs", path, "tmpfs", flags, $0) == 0 }
    #else
      false
    #endif
  }
}

extension DownloadFixture {
  /// Runs `body` with the path of a file system of that size in the directory.
  func withSmallDisk(
    bytes: Int, isReadOnly: Bool = false, _ body: (String) async throws -> Void
  ) async throws {
    let path = path("small")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try #require(SmallDisk.make(path, bytes: bytes, isReadOnly: isReadOnly))
    defer { _ = SmallDisk.remove(path) }
    try await body(path)
  }

  /// The inode of a file; a replaced file has another.
  func inode(_ name: String) throws -> UInt64 {
    let attributes = try FileManager.default.attributesOfItem(atPath: path(name))
    return try #require(attributes[.systemFileNumber].flatMap { UInt64("\($0)") })
  }
}

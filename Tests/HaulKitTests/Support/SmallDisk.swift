import FoundationEssentials
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A file system of a few pages in memory, for what only a full or read-only one can show.
///
/// It takes the right to mount; tests that need it are skipped without.
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

  /// Whether this process may write where the mode of a directory forbids it, as the superuser may
  /// with all its capabilities.
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

  /// Gives it another size; what is there stays.
  static func resize(_ path: String, bytes: Int) -> Bool {
    change(path, bytes, 32)
  }

  /// Has what lies in one directory lie in another too, as if its file system were mounted there.
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

  /// `flags` as mount(2) counts them: 1 is read-only, 32 a change of one that is there.
  private static func change(_ path: String, _ bytes: Int, _ flags: UInt) -> Bool {
    #if canImport(Glibc)
      "size=\(bytes)".withCString { mount("tmpfs", path, "tmpfs", flags, $0) == 0 }
    #else
      false
    #endif
  }
}

extension Bench {
  /// Runs `body` with the path of a file system of that size inside the directory.
  func withSmallDisk(
    bytes: Int, isReadOnly: Bool = false, _ body: (String) async throws -> Void
  ) async throws {
    let path = path("small")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try #require(SmallDisk.make(path, bytes: bytes, isReadOnly: isReadOnly))
    defer { _ = SmallDisk.remove(path) }
    try await body(path)
  }

  /// What identifies a file on this machine: a replaced one has another.
  func inode(_ name: String) throws -> UInt64 {
    let attributes = try FileManager.default.attributesOfItem(atPath: path(name))
    return try #require(attributes[.systemFileNumber].flatMap { UInt64("\($0)") })
  }
}

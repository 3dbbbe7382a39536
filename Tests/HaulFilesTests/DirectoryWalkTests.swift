import FoundationEssentials
import HaulCore
import HaulFiles
import HaulLibC
import Testing

/// A link in the path of a directory.
@Suite struct DirectoryWalkTests {
  private let scratch: Scratch
  private let target: String
  private let shared: String

  init() throws {
    scratch = try Scratch()
    (target, shared) = ("\(scratch.path)/target", "\(scratch.path)/shared")
    for path in [target, shared] { try #require(mkdir(path, 0o755) == 0) }
  }

  private func failure(_ path: String, creating: Bool = false) -> Int32? {
    do throws(DiskError) {
      _ = try scratch.disk.openDirectory(path, creating: creating)
      return nil
    } catch {
      return error.errno
    }
  }

  private func link(to path: String, as name: String, of owner: uid_t = geteuid()) throws {
    try #require(symlink(path, name) == 0)
    if owner != geteuid() { try #require(lchown(name, owner, owner) == 0) }
  }

  @Test
  func `of another user is not followed in a sticky directory that everybody may write to`() throws
  {
    // Only the superuser can give a link away.
    guard geteuid() == 0 else { return }
    try #require(chmod(shared, 0o1777) == 0)
    try link(to: target, as: "\(shared)/own")
    try link(to: target, as: "\(shared)/dl", of: 12_345)
    try link(to: "\(shared)/dl", as: "\(scratch.path)/mine")
    #expect(failure("\(shared)/own") == nil)
    for path in ["\(shared)/dl", "\(shared)/dl/", "\(shared)/dl/new", "\(scratch.path)/mine"] {
      #expect(failure(path) == EACCES, "\(path)")
      #expect(failure(path, creating: true) == EACCES, "\(path)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: target).isEmpty)
  }

  @Test
  func `of another user is followed where others may not write, or where it is the directory's`()
    throws
  {
    guard geteuid() == 0 else { return }
    try link(to: target, as: "\(shared)/dl", of: 12_345)
    for mode: mode_t in [0o755, 0o777, 0o1755] {
      try #require(chmod(shared, mode) == 0)
      #expect(failure("\(shared)/dl") == nil, "\(mode)")
    }
    try #require(chmod(shared, 0o1777) == 0 && chown(shared, 12_345, 12_345) == 0)
    #expect(failure("\(shared)/dl") == nil)
  }

  @Test
  func `is followed, relative, absolute or up, and missing directories are made behind it`() throws
  {
    try link(to: "target", as: "\(scratch.path)/relative")
    try link(to: target, as: "\(scratch.path)/absolute")
    try link(to: "../target/../target", as: "\(shared)/up")
    let expected = try scratch.disk.openDirectory(target, creating: false).status().inode
    for path in ["relative", "absolute/", "shared/up", "./shared/../target//", "absolute/."] {
      let found = try scratch.disk.openDirectory("\(scratch.path)/\(path)", creating: false)
      #expect(try found.status().inode == expected, "\(path)")
      #expect(try found.isAtPath())
    }
    #expect(failure("\(scratch.path)/relative/a/b", creating: true) == nil)
    #expect(failure("\(target)/a/b") == nil)
  }

  @Test
  func `and another user's directory are not passed on the way to a user's own files`() throws {
    guard geteuid() == 0 else { return }
    try #require(chmod(shared, 0o1777) == 0)
    try POSIXDisk.makeOwnDirectory("\(shared)/mine/below")
    try POSIXDisk.makeOwnDirectory("\(shared)/mine/below")
    let made = try scratch.disk.openDirectory("\(shared)/mine/below", creating: false).status()
    #expect(made.mode == 0o700)
    let foreign = "\(shared)/foreign"
    try #require(mkdir(foreign, 0o755) == 0 && chown(foreign, 12_345, 12_345) == 0)
    try link(to: target, as: "\(shared)/dl", of: 12_345)
    for path in [foreign, "\(foreign)/new", "\(shared)/dl", "\(shared)/dl/new"] {
      let error = #expect(throws: DiskError.self) { try POSIXDisk.makeOwnDirectory(path) }
      #expect(error?.errno == EACCES, "\(path)")
    }
    for path in [foreign, target] {
      #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
    }
    try #require(chmod(shared, 0o755) == 0)
    try POSIXDisk.makeOwnDirectory("\(foreign)/new")
  }

  @Test
  func `that leads nowhere, in a circle or to a file is an error, and nothing is made`() throws {
    try link(to: "missing", as: "\(scratch.path)/nowhere")
    try link(to: "circle", as: "\(scratch.path)/circle")
    try scratch.put([1], as: "file")
    try link(to: "missing", as: "\(target)/nowhere")
    try link(to: "target/nowhere/x", as: "\(scratch.path)/far")
    for path in ["nowhere", "nowhere/x", "target/nowhere", "target/nowhere/x/y", "far", "far/z"] {
      #expect(failure("\(scratch.path)/\(path)", creating: true) == ENOENT, "\(path)")
    }
    #expect(failure("\(target)/made/../new", creating: true) == nil)
    #expect(failure("\(scratch.path)/circle") == ELOOP)
    #expect(failure("\(scratch.path)/file") == ENOTDIR)
    #expect(failure("\(scratch.path)/file/x", creating: true) == ENOTDIR)
    #expect(try scratch.names() == ["target", "shared", "nowhere", "far", "circle", "file"])
  }
}

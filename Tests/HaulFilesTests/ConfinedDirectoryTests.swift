import FoundationEssentials
import HaulCore
import HaulFiles
import HaulLibC
import Testing

/// A directory that must lie below a root.
@Suite struct ConfinedDirectoryTests {
  private let scratch: Scratch
  private let root: String
  private let outside: String

  init() throws {
    scratch = try Scratch()
    (root, outside) = ("\(scratch.path)/root", "\(scratch.path)/outside")
    for path in [root, outside] { try #require(mkdir(path, 0o755) == 0) }
  }

  private func open(_ path: String, creating: Bool = false) throws(DiskError) -> any DiskDirectory {
    try scratch.disk.openDirectory(path, below: [root], creating: creating)
  }

  private func refusal(_ path: String, creating: Bool = false) -> Int32? {
    do throws(DiskError) {
      _ = try open(path, creating: creating)
      return nil
    } catch {
      return error.errno
    }
  }

  @Test func `is made with its parents, and opened, also through a link that stays below`() throws {
    let made = try open("\(root)/a/b", creating: true)
    #expect(try made.isAtPath())
    #expect(refusal(root) == nil)
    try #require(symlink("\(root)/a", "\(root)/link") == 0)
    #expect(try open("\(root)/link/b").status().inode == made.status().inode)
    #expect(refusal("\(root)/missing") == ENOENT)
  }

  @Test
  func `is refused elsewhere, and through a link that leads out; without a root, both are opened`()
    throws
  {
    try #require(symlink(outside, "\(root)/out") == 0)
    try #require(mkdir("\(root)x", 0o755) == 0)
    let refused = [outside, "\(root)/out", "\(root)/../outside", "\(root)x", "/"]
    for path in refused {
      #expect(refusal(path) == EXDEV, "\(path)")
      #expect(throws: Never.self) { try scratch.disk.openDirectory(path, creating: false) }
    }
    #expect(refusal("\(root)/out/new", creating: true) == EXDEV)
    #expect(try FileManager.default.contentsOfDirectory(atPath: outside).isEmpty)
  }

  @Test(arguments: ["x", "\u{301}x\u{600}", "\u{600}", "\u{200D}"])
  func `is refused when a missing name leads up again, whatever joins the slash`(name: String)
    throws
  {
    for path in ["\(root)/\(name)/../../outside", "\(root)/../\(name)/../outside/x"] {
      #expect(refusal(path, creating: true) == EXDEV, "\(path)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: root).isEmpty)
  }

  @Test func `is not the twin of a root with another normal form`() throws {
    let (composed, decomposed) = ("\(scratch.path)/T\u{E9}l", "\(scratch.path)/Te\u{301}l")
    for path in [composed, decomposed] { try #require(mkdir(path, 0o755) == 0) }
    #expect(throws: DiskError("open", EXDEV)) {
      try scratch.disk.openDirectory(decomposed, below: [composed], creating: false)
    }
    #expect(ConfinedDirectory.contains(composed, below: [composed]))
    #expect(!ConfinedDirectory.contains(decomposed, below: [composed]))
  }

  @Test func `a link that leads nowhere is no directory to make`() throws {
    try #require(symlink("\(outside)/later", "\(root)/dead") == 0)
    #expect(refusal("\(root)/dead/a", creating: true) == ENOENT)
    #expect(try FileManager.default.contentsOfDirectory(atPath: outside).isEmpty)
  }

  @Test func `a name that becomes a link after the check leads nowhere`() async throws {
    try #require(mkdir("\(root)/d", 0o755) == 0)
    try #require(mkdir("\(outside)/d", 0o755) == 0)
    let swapping = Task { [root, outside] in
      while !Task.isCancelled {
        rename("\(root)/d", "\(root)/kept")
        symlink("\(outside)/d", "\(root)/d")
        unlink("\(root)/d")
        rename("\(root)/kept", "\(root)/d")
      }
    }
    let inode = try scratch.disk.openDirectory("\(outside)/d", creating: false).status().inode
    for _ in 0..<5_000 {
      guard let opened = try? open("\(root)/d") else { continue }
      #expect(try opened.status().inode != inode)
    }
    swapping.cancel()
    await swapping.value
  }
}

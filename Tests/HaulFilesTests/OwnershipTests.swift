import FoundationEssentials
import HaulCore
import HaulFiles
import HaulLibC
import HaulTesting
import Testing

/// Files of others are not touched.
@Suite
struct OwnershipTests {
  private static let part = "file.iso.haul.part"
  private static let journal = "file.iso.haul.journal"

  @Test
  func `A part file or journal that others can write, with two links, or a symlink, is refused`()
    throws
  {
    for name in [Self.part, Self.journal] {
      for spoil in PermissionFault.allCases {
        let scratch = try Scratch()
        try spoil.perform(in: scratch, name: name)
        #expect(
          try code { _ = try scratch.acquire() } == .nameConflict, "\(name), \(spoil)")
        #expect(try scratch.contents("other") == [1, 2, 3], "\(name), \(spoil)")
        #expect(try scratch.names() == [name, "other"])
      }
    }
  }

  @Test(arguments: [part, journal], [false, true])
  func `A part file or journal that others may write, or that has two links, is refused`(
    name: String, hasTwoNames: Bool
  ) throws {
    let scratch = try Scratch()
    let content = sampleBytes(200_000)
    let former = try scratch.acquire()
    try former.begin(sampleHead(200_000))
    try former.write(0..<150_000, of: content)
    try former.checkpoint()
    former.release()
    let before = try scratch.contents(name)
    // So it is taken over.
    try scratch.acquire().release()
    if hasTwoNames {
      try scratch.directory.link(name, to: "other")
    } else {
      #expect(chmod("\(scratch.path)/\(name)", 0o660) == 0)
    }
    #expect(try code { _ = try scratch.acquire() } == .nameConflict)
    #expect(try scratch.contents(name).starts(with: before))
  }

  /// A disk whose files belong to another user.
  private struct OtherUser: Disk {
    let base: any Disk
    var bootID: String { base.bootID }
    var effectiveUser: UInt32 { base.effectiveUser + 1 }
    var creationMask: UInt32 { base.creationMask }

    func workingDirectory() throws(DiskError) -> String { try base.workingDirectory() }

    func openDirectory(
      _ path: String, below roots: [String]?, creating: Bool
    ) throws(DiskError) -> any DiskDirectory {
      try base.openDirectory(path, below: roots, creating: creating)
    }
  }

  @Test func `Another user's journal is reported with the user's name, and as unreadable`() throws {
    let scratch = try Scratch()
    let name = Self.journal
    try scratch.put([1, 2, 3], as: name)
    let attributes = try FileManager.default.attributesOfItem(atPath: "\(scratch.path)/\(name)")
    let owner = try #require(attributes[.ownerAccountName] as? String)
    let thrown = try message {
      _ = try PartFile.acquire(
        disk: OtherUser(base: POSIXDisk()), directory: scratch.directory, name: "file.iso",
        nonce: Array(repeating: 1, count: 16), durability: .strict)
    }
    let reported = try #require(thrown)
    let user = "belongs to \(owner) (user \(scratch.disk.effectiveUser)) and cannot be read"
    #expect(reported.contains(user), "\(reported)")
    #expect(!reported.contains("Haul did not create"))
    #expect(try scratch.contents(name) == [1, 2, 3])
    #expect(try scratch.names() == [name])
  }

  enum PermissionFault: CaseIterable {
    case groupWritable, twoLinks, symlink

    func perform(in scratch: Scratch, name: String) throws {
      try scratch.put([1, 2, 3], as: "other", mode: self == .groupWritable ? 0o660 : 0o600)
      let manager = FileManager.default
      switch self {
      case .groupWritable: try scratch.put([1, 2, 3], as: name, mode: 0o660)
      case .twoLinks: try scratch.directory.link("other", to: name)
      case .symlink:
        try manager.createSymbolicLink(
          atPath: "\(scratch.path)/\(name)", withDestinationPath: "other")
      }
    }
  }

  @Test func `An empty part file that a dying process did not mark is marked with its first bytes`()
    throws
  {
    let machine = SimulatedMachine(seed: 1)
    machine.plant([], as: Self.part, in: "/d")
    func acquire() throws -> PartFile {
      let disk = machine.startProcess()
      return try PartFile.acquire(
        disk: disk, directory: disk.openDirectory("/d", creating: false), name: "file.iso",
        nonce: Array(repeating: 1, count: 16), durability: .strict)
    }
    let part = try acquire()
    try part.begin(sampleHead(100))
    try part.write(0..<100, of: sampleBytes(100))
    part.release()
    // A power cut may leave the part file and not the journal.
    let directory = try machine.startProcess().openDirectory("/d", creating: false)
    try directory.unlink(Self.journal)
    let again = try acquire()
    #expect(again.recovery.head == nil)
    again.release()
  }

  @Test(arguments: [part, journal])
  func `Another user's part file or journal is refused untouched`(name: String) throws {
    let machine = SimulatedMachine(seed: 1)
    machine.plant(JournalFormat.header(), as: name, in: "/d")
    let disk = OtherUser(base: machine.startProcess())
    let directory = try disk.openDirectory("/d", creating: false)
    #expect(
      try code {
        _ = try PartFile.acquire(
          disk: disk, directory: directory, name: "file.iso",
          nonce: Array(repeating: 1, count: 16), durability: .strict)
      } == .nameConflict)
    #expect(machine.contents(of: name, in: "/d") == JournalFormat.header())
  }

  // Found by the simulation: with a umask of 002, such a part file blocked its name for ever.
  @Test
  func `A small file that a crash left unpublished with its final mode is taken over`() throws {
    let machine = SimulatedMachine(seed: 1)
    let disk = machine.startProcess()
    let mode = 0o666 & ~disk.creationMask
    #expect(mode & 0o020 != 0, "a group may write it")
    machine.plant([1, 2, 3], as: Self.part, in: "/d", mode: mode, attribute: [1])
    let part = try PartFile.acquire(
      disk: disk, directory: try disk.openDirectory("/d", creating: false), name: "file.iso",
      nonce: Array(repeating: 1, count: 16), durability: .strict)
    #expect(part.recovery.received.isEmpty)
    part.release()
  }

  @Test func `Publication never replaces a file that appears at that moment`() throws {
    let scratch = try Scratch()
    try scratch.put([1], as: "new")
    try scratch.put([2], as: "old")
    #expect(throws: DiskError("rename", EEXIST)) {
      try scratch.directory.rename("new", to: "old", replacing: false)
    }
    #expect(try scratch.contents("old") == [2])
    #expect(try scratch.contents("new") == [1])
    try scratch.directory.rename("new", to: "old", replacing: true)
    #expect(try scratch.contents("old") == [1])
  }

  @Test
  func `A target that is a directory or symlink is refused; absent and regular ones are reported`()
    throws
  {
    let scratch = try Scratch()
    #expect(try TargetCheck.state(of: "x", in: scratch.directory) == .absent)
    try scratch.put([1, 2, 3], as: "x")
    guard case .regular(3, _) = try TargetCheck.state(of: "x", in: scratch.directory) else {
      Issue.record("x is a regular file of 3 bytes")
      return
    }
    try FileManager.default.createSymbolicLink(
      atPath: "\(scratch.path)/y", withDestinationPath: "x")
    try FileManager.default.createDirectory(
      atPath: "\(scratch.path)/z", withIntermediateDirectories: false)
    for name in ["y", "z"] {
      #expect(
        try code { _ = try TargetCheck.state(of: name, in: scratch.directory) } == .notARegularFile)
    }
    #expect(
      try code {
        _ = try TargetCheck.openDirectory(scratch.path + "/x", on: scratch.disk, creating: true)
      } == .notARegularFile)
  }

  @Test
  func `A file that appears meanwhile is kept, and the download is published under another name`()
    throws
  {
    let scratch = try Scratch()
    let content = sampleBytes(5_000)
    let part = try scratch.acquire()
    try part.begin(try sampleHead(5_000))
    try part.write(0..<5_000, of: content)
    try scratch.put([9], as: "file.iso")
    #expect(
      try code {
        try part.publish(as: "file.iso", length: 5_000, modified: nil, replacing: false)
      } == .nameConflict)
    try part.publish(as: "file (1).iso", length: 5_000, modified: nil, replacing: false)
    part.release()
    #expect(try scratch.contents("file.iso") == [9])
    #expect(try scratch.contents("file (1).iso") == content)
    #expect(try scratch.names() == ["file.iso", "file (1).iso"])
  }

  @Test
  func `With replacing, it replaces in one step; an incomplete file is never published`() throws {
    let scratch = try Scratch()
    let content = sampleBytes(5_000)
    try scratch.put([9], as: "file.iso")
    let part = try scratch.acquire()
    try part.begin(try sampleHead(5_000))
    try part.write(0..<4_999, of: content)
    #expect(
      try code {
        try part.publish(as: "file.iso", length: 5_000, modified: nil, replacing: true)
      } == .lengthMismatch)
    try part.write(4_999..<5_000, of: content)
    try part.publish(as: "file.iso", length: 5_000, modified: nil, replacing: true)
    part.release()
    #expect(try scratch.contents("file.iso") == content)
  }

  @Test
  func `Another program's journal with the same name stops the run, and is not touched`() throws {
    let scratch = try Scratch()
    let part = try scratch.acquire()
    try part.begin(try sampleHead(5_000))
    try part.write(0..<1_000, of: sampleBytes(5_000))
    try scratch.directory.unlink(Self.journal)
    try scratch.put([1], as: Self.journal)
    #expect(try code { try part.checkpoint() } == .inUse)
    try part.discard()
    #expect(try scratch.names() == [Self.part, Self.journal])
    #expect(try scratch.contents(Self.journal) == [1])
  }

  @Test func `Another run's nonce in the journal stops the run, where locks do not work`() throws {
    let scratch = try Scratch()
    let part = try scratch.acquire(nonce: 1)
    try part.begin(try sampleHead(5_000))
    try part.write(0..<1_000, of: sampleBytes(5_000))
    let ours = [UInt8](repeating: 1, count: 16)
    let range = try #require(try scratch.contents(Self.journal).firstRange(of: ours))
    let file = try scratch.directory.open(Self.journal, writing: true)
    defer { file.close() }
    let theirs = [UInt8](repeating: 2, count: 16)
    _ = try theirs.withUnsafeBytes { bytes in
      try file.write(bytes, at: Int64(range.lowerBound))
    }
    let taken = try scratch.contents(Self.journal)
    #expect(try code { try part.checkpoint() } == .inUse)
    try part.discard()
    #expect(try scratch.names() == [Self.part, Self.journal])
    #expect(try scratch.contents(Self.journal) == taken)
  }

  @Test
  func `Discarding leaves nothing; a name of 255 bytes still has room for its part file`() throws {
    let scratch = try Scratch()
    let name = String(repeating: "ü", count: 127) + "x"
    let part = try scratch.acquire(name)
    try part.begin(try sampleHead(nil))
    try part.write(0..<1_000, of: sampleBytes(1_000))
    #expect(try scratch.names().allSatisfy { $0.utf8.count <= 255 })
    try part.discard()
    #expect(try scratch.names().isEmpty)
  }

  @Test func `A length that cannot fit is refused`() throws {
    let scratch = try Scratch()
    let part = try scratch.acquire()
    #expect(try code { try part.ensureRoom(for: 1 << 60) } == .diskFull)
    let reported = try message { try part.ensureRoom(for: 1 << 60) }
    #expect(reported?.hasPrefix("1.0 EiB do not fit: ") == true, "\(reported ?? "")")
    #expect(reported?.contains("iB are free; ") == true, "\(reported ?? "")")
    part.release()
    #expect(try scratch.names().isEmpty)
  }
}

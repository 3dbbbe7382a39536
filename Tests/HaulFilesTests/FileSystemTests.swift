import HaulCore
import HaulFiles
import HaulLibC
import HaulTesting
import Testing

/// File systems that differ from a local one.
@Suite
struct FileSystemTests {
  private static let partName = "f.haul.part"
  private let content = sampleBytes(5_000)
  private let machine = SimulatedMachine(seed: 1)

  private func setFaults(_ change: (inout SimulatedFaults) -> Void) {
    var faults = SimulatedFaults()
    change(&faults)
    machine.setFaults(faults)
  }

  private func acquire(
    _ durability: DownloadRequest.Durability = .strict, nonce: UInt8 = 1
  ) throws -> PartFile {
    let disk = machine.startProcess()
    return try PartFile.acquire(
      disk: disk, directory: try disk.openDirectory("/d", creating: true), name: "f",
      nonce: Array(repeating: nonce, count: 16), durability: durability)
  }

  /// A part file with all bytes.
  private func whole(_ durability: DownloadRequest.Durability = .strict) throws -> PartFile {
    let part = try acquire(durability)
    try part.begin(try sampleHead(5_000))
    try part.write(0..<5_000, of: content)
    return part
  }

  private func publish(_ part: PartFile) throws {
    try part.publish(as: "f", length: 5_000, modified: 1_000_000_000, replacing: false)
    part.release()
  }

  private func expectWhole() {
    #expect(machine.names(in: "/d") == ["f"])
    #expect(machine.contents(of: "f", in: "/d") == content)
  }

  /// Another run fetches every byte.
  private func expectNothingKept() throws {
    machine.setFaults(SimulatedFaults())
    let again = try acquire(nonce: 2)
    #expect(again.recovery.received.isEmpty)
    try again.begin(try sampleHead(5_000))
    try again.write(0..<5_000, of: content)
    try publish(again)
    expectWhole()
  }

  @Test
  func `A new file has the rights of the directory's default ACL, else those of the umask`() throws
  {
    let modes: [(UInt32?, UInt32)] = [
      (nil, 0o664), (0o660, 0o660), (0o640, 0o640), (0o600, 0o600),
    ]
    for (given, mode) in modes {
      let test = FileSystemTests()
      test.setFaults { $0.defaultMode = given }
      try test.publish(try test.whole())
      test.expectWhole()
      #expect(test.machine.mode(of: "f", in: "/d") == mode)
    }
  }

  @Test func `A part file with the mode of a default ACL is taken over after a crash`() throws {
    setFaults { $0.defaultMode = 0o660 }
    machine.plant([1, 2, 3], as: Self.partName, in: "/d", mode: 0o660, attribute: [1])
    let part = try acquire()
    try part.begin(try sampleHead(5_000))
    try part.write(0..<5_000, of: content)
    try publish(part)
    expectWhole()
  }

  /// The kinds of entries: owner, user, group, mask, others.
  private static let entries: [(UInt8, UInt8)] = [
    (1, 7), (2, 7), (4, 5), (0x10, 7), (0x20, 0),
  ]

  private func attribute(_ entries: [(UInt8, UInt8)]) -> [UInt8] {
    entries.reduce(into: [2, 0, 0, 0]) {
      $0 += [$1.0, 0, $1.1, 0, 0xFF, 0xFF, 0xFF, 0xFF]
    }
  }

  @Test
  func `The mask of a default ACL is the right of the group; what it does not say, nobody has`() {
    let all = Self.entries
    #expect(DefaultACL.mode(attribute(all)) == 0o660)
    #expect(DefaultACL.mode(attribute(all.filter { $0.0 != 0x10 })) == 0o640)
    #expect(DefaultACL.mode(attribute([(1, 7), (4, 0), (0x20, 4)])) == 0o604)
    #expect(DefaultACL.mode(attribute([(1, 5), (4, 1), (0x20, 1)])) == 0o400)
    #expect(DefaultACL.mode([]) == 0o600)
    #expect(DefaultACL.mode(Array(attribute(all).dropLast(8))) == 0o660)
    #expect(DefaultACL.mode([3] + attribute(all).dropFirst()) == 0o600)
  }

  @Test(arguments: [true, false])
  func `An error of close fails the download before the name is given, and no byte counts`(
    isStrict: Bool
  ) throws {
    let part = try whole(isStrict ? .strict : .relaxed)
    try part.checkpoint()
    setFaults { $0.errors["close"] = EIO }
    #expect(try code { try publish(part) } == .io)
    part.release()
    #expect(!machine.names(in: "/d").contains("f"))
    try expectNothingKept()
  }

  @Test func `A part file that was cut is not filled with zeros by the next write`() throws {
    let part = try acquire()
    try part.begin(try sampleHead(5_000))
    try part.write(0..<4_000, of: content)
    machine.resize(Self.partName, in: "/d", to: 100)
    #expect(try code { try part.write(4_000..<5_000, of: content) } == .io)
    #expect(throws: TransferError.self) { try publish(part) }
    part.release()
    #expect(!machine.names(in: "/d").contains("f"))
    try expectNothingKept()
  }

  @Test func `A part file that was cut after the last write is not published`() throws {
    let part = try whole()
    machine.resize(Self.partName, in: "/d", to: 4_999)
    #expect(try code { try publish(part) } == .io)
    part.release()
    try expectNothingKept()
  }

  @Test func `Bytes that another program appended are not published`() throws {
    let part = try whole()
    machine.resize(Self.partName, in: "/d", to: 6_000)
    try publish(part)
    expectWhole()
  }

  @Test
  func `A file that replaces another has its whole mode, also after a publish that was cut off`()
    throws
  {
    for mode: UInt32 in [0o600, 0o644, 0o660, 0o666, 0o755] {
      let test = FileSystemTests()
      test.machine.plant([9], as: "f", in: "/d", mode: mode)
      let part = try test.whole()
      test.setFaults { $0.errors["rename"] = EIO }
      let replace = { (part: PartFile) in
        try part.publish(as: "f", length: 5_000, modified: nil, replacing: true)
      }
      #expect(try code { try replace(part) } == .io)
      part.release()
      test.machine.setFaults(SimulatedFaults())
      let again = try test.acquire(nonce: 2)
      #expect(again.recovery.received == ByteRangeSet(0..<5_000))
      try replace(again)
      again.release()
      test.expectWhole()
      #expect(test.machine.mode(of: "f", in: "/d") == mode)
    }
  }

  @Test func `Where rights and dates cannot be set, the file is published without them`() throws {
    for number in [EPERM, EOPNOTSUPP, ENOSYS] {
      for call in ["fchmod", "futimens"] {
        let test = FileSystemTests()
        let part = try test.whole()
        test.setFaults { $0.errors[call] = number }
        try test.publish(part)
        test.expectWhole()
      }
    }
    let part = try whole()
    setFaults { $0.errors["fchmod"] = EIO }
    #expect(try code { try publish(part) } == .io)
  }

  @Test
  func `Where directories cannot be synced, the file is published; any other error fails it`()
    throws
  {
    for number in [EINVAL, EOPNOTSUPP, ENOSYS] {
      let test = FileSystemTests()
      test.setFaults { $0.errors["fsyncdir"] = number }
      try test.publish(try test.whole())
      test.expectWhole()
    }
    setFaults { $0.errors["fsyncdir"] = EIO }
    let part = try whole()
    #expect(try code { try publish(part) } == .io)
  }

  @Test
  func `Where files cannot be synced, the error names relaxed durability, which works`() throws {
    for number in [EINVAL, EOPNOTSUPP, ENOSYS] {
      let test = FileSystemTests()
      let part = try test.whole()
      test.setFaults { $0.errors["fsync"] = number }
      let error = #expect(throws: TransferError.self) { try test.publish(part) }
      #expect(error?.code == .io)
      #expect(error?.remedy == .relaxedDurability)
    }
    setFaults { $0.errors["fsync"] = EINVAL }
    try publish(try whole(.relaxed))
    expectWhole()
  }

  @Test func `A lost sync is not taken for one that is not supported`() {
    let error = TransferError(DiskError("fsync", EIO), while: "sync the part file")
    #expect(error.remedy == nil)
  }

  @Test
  func `Without an inode, the message speaks neither of space nor of received bytes`() throws {
    setFaults { $0.errors["openat"] = ENOSPC }
    let error = #expect(throws: TransferError.self) { try acquire() }
    #expect(error?.code == .diskFull)
    #expect(error?.message.contains("no inode is left") == true)
    #expect(error?.message.contains("received bytes") == false)
    setFaults {
      $0.errors["openat"] = ENOSPC
      $0.capacity = 0
    }
    let full = #expect(throws: TransferError.self) { try acquire() }
    #expect(full?.message.contains("free some space") == true)
  }

  @Test func `A name that the file system does not take, and a mount point, are called so`() {
    let name = TransferError(DiskError("openat", EINVAL), while: "make the part file")
    #expect(name.code == .badName)
    #expect(name.message.contains("character"))
    let mount = TransferError(DiskError("rename", EBUSY), while: "publish the file")
    #expect(mount.code == .io)
    #expect(mount.message.contains("mount point"))
  }
}

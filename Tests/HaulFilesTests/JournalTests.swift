import HaulCore
import HaulFiles
import HaulTesting
import Testing

/// Journal and replay.
@Suite
struct JournalTests {
  static let path = "/d"
  static let journal = "f.haul.journal"
  static let part = "f.haul.part"
  let content = sampleBytes(9_000)

  private func acquire(_ machine: SimulatedMachine, strict: Bool = true) throws -> PartFile {
    let disk = machine.startProcess()
    return try PartFile.acquire(
      disk: disk, directory: try disk.openDirectory(Self.path, creating: true), name: "f",
      nonce: Array(repeating: 3, count: 16), durability: strict ? .strict : .relaxed)
  }

  /// A run that ends with claims, a checkpoint and more claims.
  private func machineWithBytes(seed: UInt64 = 5) throws -> SimulatedMachine {
    let machine = SimulatedMachine(seed: seed)
    let part = try acquire(machine)
    try part.begin(try sampleHead(9_000))
    try part.write(0..<2_000, of: content)
    try part.write(5_000..<6_000, of: content)
    try part.checkpoint()
    try part.write(2_000..<4_000, of: content)
    part.release()
    return machine
  }

  /// Another machine with the same part file and this journal, in the same boot.
  private func received(journal: [UInt8], on machine: SimulatedMachine) throws -> ByteRangeSet? {
    let bytes = try #require(machine.contents(of: Self.part, in: Self.path))
    let copy = SimulatedMachine(seed: 1)
    copy.plant(journal, as: Self.journal, in: Self.path)
    copy.plant(bytes, as: Self.part, in: Self.path)
    do {
      let part = try acquire(copy)
      defer { part.release() }
      return part.recovery.received
    } catch let error as TransferError where error.code == .nameConflict {
      // Nothing was counted or changed.
      #expect(copy.contents(of: Self.journal, in: Self.path) == journal)
      return nil
    }
  }

  private let all = ByteRangeSet([0..<4_000, 5_000..<6_000])

  @Test func `Every prefix of a journal counts a part of the claims, and no other byte`() throws {
    let machine = try machineWithBytes()
    let journal = try #require(machine.contents(of: Self.journal, in: Self.path))
    for length in 0...journal.count {
      let counted = try received(journal: Array(journal.prefix(length)), on: machine)
      #expect(counted?.ranges.allSatisfy(all.covers) ?? false, "first \(length) bytes")
    }
    #expect(try received(journal: journal, on: machine) == all)
  }

  @Test func `Every changed byte of a journal is detected or harmless`() throws {
    let machine = try machineWithBytes()
    let journal = try #require(machine.contents(of: Self.journal, in: Self.path))
    for index in journal.indices {
      var changed = journal
      changed[index] ^= 0x41
      let counted = try received(journal: changed, on: machine) ?? ByteRangeSet()
      #expect(counted.ranges.allSatisfy(all.covers), "byte \(index)")
      #expect(JournalReplay(changed).end <= index, "byte \(index)")
    }
  }

  @Test func `A claim with changed bytes does not count after another boot`() throws {
    let machine = try machineWithBytes()
    machine.losePower()
    var bytes = try #require(machine.contents(of: Self.part, in: Self.path))
    bytes[5_500] ^= 1
    machine.plant(bytes, as: Self.part, in: Self.path)
    let part = try acquire(machine)
    #expect(part.recovery.received.covers(0..<2_000))
    #expect(part.recovery.received.isDisjoint(5_000..<6_000))
    part.release()
    let again = try acquire(machine)
    #expect(again.recovery.received == part.recovery.received)
    again.release()
  }

  @Test func `A claim whose bytes a power cut lost does not count, even in the same file`() throws {
    var lost = 0
    for seed in UInt64(1)...100 {
      let machine = try machineWithBytes(seed: seed)
      let second = try acquire(machine, strict: false)
      // A tick of the file system's clock is two changes: with one more, a claim is newer than its
      // bytes.
      machine.plant([], as: "other", in: Self.path)
      try machine.startProcess().openDirectory(Self.path, creating: false).link("other", to: "link")
      try second.write(6_000..<9_000, of: content)
      try second.checkpoint()
      second.release()
      machine.losePower()
      let next = try acquire(machine, strict: false)
      defer { next.release() }
      let bytes = machine.contents(of: Self.part, in: Self.path) ?? []
      for range in next.recovery.received.ranges {
        #expect(content.agrees(with: bytes, in: range), "seed \(seed), \(range)")
      }
      let journal = machine.contents(of: Self.journal, in: Self.path) ?? []
      if JournalReplay(journal).claims.contains(where: \.isVoid) { lost += 1 }
    }
    #expect(lost > 0)
  }

  @Test
  func `After a failed sync and a crash, bytes are rewritten before they are durable`() throws {
    for seed in UInt64(1)...40 {
      for change in 1...8 {
        let machine = SimulatedMachine(seed: seed)
        let part = try acquire(machine)
        try part.begin(try sampleHead(9_000))
        try part.write(0..<4_000, of: content)
        var faults = SimulatedFaults()
        faults.syncFailsOneIn = 1
        machine.setFaults(faults)
        machine.crash(afterChanges: change)
        // It fails, or the process dies during it.
        try? part.checkpoint()
        machine.killProcesses()
        machine.setFaults(SimulatedFaults())
        let next = try acquire(machine)
        try next.checkpoint()
        let promised = next.claimed
        machine.losePower()
        let last = try acquire(machine)
        #expect(
          promised.ranges.allSatisfy(last.recovery.received.covers),
          "seed \(seed), change \(change)")
        last.release()
      }
    }
  }

  @Test func `An interrupted publication does not accept another file of the same length`() throws {
    let other = sampleBytes(9_000, seed: 2)
    var count = 0
    for change in 1...60 {
      let machine = SimulatedMachine(seed: 5)
      let part = try acquire(machine)
      try part.begin(try sampleHead(9_000))
      try part.write(0..<9_000, of: content)
      machine.crash(afterChanges: change)
      // The process dies during it.
      try? part.publish(as: "f", length: 9_000, modified: nil, replacing: false)
      machine.killProcesses()
      guard let journal = machine.contents(of: Self.journal, in: Self.path),
        JournalReplay(journal).publication != nil, machine.contents(of: "f", in: Self.path) == nil
      else { continue }
      count += 1
      try machine.startProcess().openDirectory(Self.path, creating: false).unlink(Self.part)
      machine.plant(other, as: "f", in: Self.path)
      let next = try acquire(machine)
      #expect(!next.recovery.published, "change \(change)")
      next.release()
      #expect(machine.contents(of: "f", in: Self.path) == other)
    }
    #expect(count > 0)
  }

  @Test func `A newer journal and a file that is no journal are not touched`() throws {
    for bytes in [JournalFormat.header(version: 2), sampleBytes(64), Array("notes".utf8)] {
      let machine = SimulatedMachine(seed: 1)
      machine.plant(bytes, as: Self.journal, in: Self.path)
      #expect(try code { _ = try acquire(machine) } == .nameConflict)
      #expect(machine.contents(of: Self.journal, in: Self.path) == bytes)
    }
  }

  @Test
  func `After a failed sync, nothing since the last good one counts, in this run or the next`()
    throws
  {
    let machine = SimulatedMachine(seed: 5)
    let part = try acquire(machine)
    try part.begin(try sampleHead(9_000))
    try part.write(0..<2_000, of: content)
    try part.checkpoint()
    try part.write(2_000..<4_000, of: content)
    var faults = SimulatedFaults()
    faults.syncFailsOneIn = 1
    machine.setFaults(faults)
    #expect(try code { try part.checkpoint() } == .io)
    #expect(part.received == ByteRangeSet(0..<2_000))
    machine.setFaults(SimulatedFaults())
    #expect(try code { try part.checkpoint() } == .io)
    part.release()
    let next = try acquire(machine)
    #expect(next.recovery.received == ByteRangeSet(0..<2_000))
    next.release()
  }

  @Test func `Two segments cannot write the same bytes, nor beyond the announced length`() throws {
    let part = try acquire(SimulatedMachine(seed: 1))
    try part.begin(try sampleHead(9_000))
    try part.write(0..<1_000, of: content, claiming: false)
    #expect(try code { try part.write(999..<1_500, of: content) } == .internal)
    try part.write(1_000..<1_500, of: content)
    #expect(try code { try part.write(1_400..<1_600, of: content) } == .internal)
    let beyond = content + [0]
    #expect(try code { try part.write(8_000..<9_001, of: beyond) } == .lengthMismatch)
    #expect(part.received == ByteRangeSet(0..<1_500))
    part.release()
  }

  @Test func `A rejected digest is remembered until the content begins again`() throws {
    let machine = try machineWithBytes()
    let checksum = try #require(Checksum("crc32c=01020304"))
    let part = try acquire(machine)
    try part.reject(checksum)
    part.release()
    let next = try acquire(machine)
    #expect(next.recovery.rejected == [checksum])
    try next.begin(try sampleHead(9_000, tag: "\"b\""))
    next.release()
    let last = try acquire(machine)
    #expect(last.recovery.rejected.isEmpty)
    #expect(last.recovery.received.isEmpty)
    last.release()
  }
}

/// CRC32C.
@Suite
struct CRC32CTests {
  @Test func `The published vectors (RFC 3720, appendix B.4)`() {
    #expect(CRC32C.of(Array("123456789".utf8)) == 0xE306_9283)
    #expect(CRC32C.of(Array(repeating: 0, count: 32)) == 0x8A91_36AA)
    #expect(CRC32C.of(Array(repeating: 0xFF, count: 32)) == 0x62A8_AB43)
    #expect(CRC32C.of(Array(0..<32)) == 0x46DD_794E)
  }

  @Test func `Instruction and table agree, in one call and in several`() {
    let bytes = sampleBytes(40_000)
    let lengths = [
      0, 1, 7, 8, 9, 1_023, 1_024, 1_025, 1_279, 1_280, 4_095, 12_287, 12_288, 12_289, 24_600,
      40_000,
    ]
    for length in lengths {
      let slice = Array(bytes.suffix(length))
      #expect(CRC32C.of(slice) == CRC32C.portable(slice), "\(length) bytes")
      var pieces = CRC32C()
      pieces.update(Array(slice.prefix(length / 3)))
      pieces.update(Array(slice.dropFirst(length / 3)))
      #expect(pieces.value == CRC32C.portable(slice), "\(length) bytes in two")
    }
  }
}

/// CRC-64/NVME.
@Suite
struct CRC64NVMETests {
  private func value(_ bytes: [UInt8]...) -> UInt64 {
    var crc = CRC64NVME()
    for piece in bytes { piece.withUnsafeBytes { crc.update($0) } }
    return crc.value
  }

  @Test func `The published vectors (NVM Command Set Specification)`() {
    #expect(value(Array("123456789".utf8)) == 0xAE8B_1486_0A79_9888)
    #expect(value(Array(repeating: 0, count: 4096)) == 0x6482_D367_EB22_B64E)
    #expect(value(Array(repeating: 0xFF, count: 4096)) == 0xC0DD_BA73_02EC_A3AC)
  }

  @Test func `Several pieces have the value of all their bytes, which S3 writes in Base64`() throws
  {
    let bytes = sampleBytes(1_003)
    for length in [0, 1, 7, 8, 9, 500, 1_003] {
      #expect(
        value(Array(bytes.prefix(length)), Array(bytes.dropFirst(length))) == value(bytes))
    }
    var digest = IncrementalDigest([.crc64nvme])
    Array("123456789".utf8).withUnsafeBytes { digest.update($0) }
    #expect(digest.checksums.map(\.description) == ["crc64nvme=ae8b14860a799888"])
  }
}

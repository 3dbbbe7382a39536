import HaulCore
import HaulFiles
import HaulTesting
import Testing

/// Space of bytes that have not arrived.
@Suite
struct SpaceReservationTests {
  private static let path = "/downloads"
  private static let name = "file.iso"
  private let machine = SimulatedMachine(seed: 1, faults: SimulatedFaults())

  private func acquire() throws -> PartFile {
    let disk = machine.startProcess()
    return try PartFile.acquire(
      disk: disk, directory: try disk.openDirectory(Self.path, creating: true), name: Self.name,
      nonce: Array(repeating: 1, count: 16), durability: .strict)
  }

  private func begin(length: Int, step: Int64) throws -> PartFile {
    let part = try acquire()
    try part.begin(try sampleHead(Int64(length)), reserving: step)
    return part
  }

  /// The space that the part file has.
  private func allocated() throws -> Int64 {
    let directory = try machine.startProcess().openDirectory(Self.path, creating: false)
    return try #require(try directory.status(of: Self.name + ".haul.part")).allocated
  }

  @Test func `An announced length takes no space, and the first byte takes one step`() throws {
    let part = try begin(length: 1 << 30, step: PartFile.reservationStep)
    #expect(try allocated() == 0)
    try part.write(0..<1, of: [7])
    #expect(try allocated() == 1 + PartFile.reservationStep)
  }

  @Test func `A file of one step is reserved at once`() throws {
    let part = try begin(length: 5_000, step: 5_000)
    try part.write(0..<1, of: sampleBytes(5_000))
    #expect(try allocated() == 5_000)
  }

  @Test func `No more is reserved than has arrived, from one segment or from several`() throws {
    let content = sampleBytes(100_000)
    for segments in [1, 3, 8] {
      let part = try begin(length: content.count, step: 1_000)
      let size = content.count / segments
      var writers = try (0..<segments).map {
        try part.writer(at: Int64($0 * size), now: Instant())
      }
      var arrived: Int64 = 0
      var steps: Set<Int64> = []
      for _ in 0..<(size / 100) {
        for index in writers.indices {
          let start = Int(writers[index].offset)
          try part.write(
            [Array(content[start..<(start + 100)])], with: &writers[index], now: Instant())
          arrived += 100
          let ahead = try allocated() - arrived
          #expect(ahead <= max(1_000, arrived) + 100)
          steps.insert(try allocated())
        }
      }
      #expect(steps.count < 30 * segments, "\(segments): \(steps.count) steps")
      try part.discard()
    }
  }

  @Test
  func `What did not arrive is given back at the end of a run, and what arrived stays`() throws {
    let content = sampleBytes(50_000)
    let part = try begin(length: content.count, step: 20_000)
    try part.write(0..<1_000, of: content)
    try part.write(30_000..<31_000, of: content, claiming: false)
    #expect(try allocated() > 20_000)
    try part.checkpoint(isLast: true)
    #expect(try allocated() == 2_000)
    // A segment that still writes is not disturbed.
    try part.write(1_000..<3_000, of: content)
    #expect(try allocated() > 4_000)
    part.release()
    #expect(try allocated() == 4_000)
    let next = try acquire()
    #expect(next.recovery.received == ByteRangeSet([0..<3_000, 30_000..<31_000]))
    try next.write(3_000..<30_000, of: content)
    try next.write(31_000..<50_000, of: content)
    try next.publish(as: Self.name, length: 50_000, modified: nil, replacing: false)
    #expect(machine.contents(of: Self.name, in: Self.path) == content)
  }

  @Test func `After a kill, the next run gives back what the killed one had reserved`() throws {
    let part = try begin(length: 4 << 20, step: 2 << 20)
    try part.write(0..<1_000, of: sampleBytes(1_000))
    machine.killProcesses()
    #expect(try allocated() > 2 << 20)
    try acquire().release()
    #expect(try allocated() == 1_000)
  }

  @Test func `A step without room is an error, and its space is given back`() throws {
    let content = sampleBytes(20_000)
    let part = try begin(length: content.count, step: 4_000)
    try part.write(0..<2_000, of: content)
    machine.setCapacity(9_000)
    let error = #expect(throws: TransferError.self) {
      try part.write(2_000..<8_000, of: content)
    }
    #expect(error?.code == .diskFull)
    #expect(error?.cause == .noRoom)
    part.release()
    #expect(try allocated() == 2_000)
  }

  @Test func `Where no space can be reserved, the file is written without`() throws {
    machine.setFaults(SimulatedFaults().with { $0.supportsAllocation = false })
    let part = try begin(length: 50_000, step: 20_000)
    try part.write(0..<1_000, of: sampleBytes(1_000))
    #expect(try allocated() == 1_000)
    part.release()
    #expect(try acquire().recovery.received == ByteRangeSet(0..<1_000))
  }

  @Test func `Bytes of another process, which took over the file, are not given back`() throws {
    let scratch = try Scratch()
    let content = sampleBytes(100_000)
    let part = try scratch.acquire(nonce: 1)
    try part.begin(try sampleHead(100_000))
    try part.write(0..<1_000, of: content)
    let journal = try scratch.directory.open(Self.name + ".haul.journal", writing: true)
    let file = try scratch.directory.open(Self.name + ".haul.part", writing: true)
    defer {
      journal.close()
      file.close()
    }
    _ = try content.withUnsafeBytes { try file.write($0, at: 0) }
    // Another process's record at the end of the journal.
    let end = try journal.status().size
    _ = try [UInt8(2)].withUnsafeBytes { try journal.write($0, at: end) }
    part.release()
    #expect(try scratch.contents(Self.name + ".haul.part") == content)
  }
}

extension SimulatedFaults {
  fileprivate func with(_ change: (inout SimulatedFaults) -> Void) -> SimulatedFaults {
    var faults = self
    change(&faults)
    return faults
  }
}

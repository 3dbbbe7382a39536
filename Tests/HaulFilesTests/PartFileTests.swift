import FoundationEssentials
import HaulCore
import HaulFiles
import HaulLibC
import Testing

/// A part file on the real file system.
@Suite
struct PartFileTests {
  let content = sampleBytes(3_000_000)

  @Test
  func `Written in two segments, checked, published: the file has the bytes, nothing else remains`()
    throws
  {
    let scratch = try Scratch()
    let part = try scratch.acquire()
    #expect(part.recovery.wasCreated)
    try part.ensureRoom(for: 3_000_000)
    try part.begin(try sampleHead(3_000_000))
    try part.write(1_500_000..<3_000_000, of: content)
    try part.write(0..<1_500_000, of: content, claiming: false)
    #expect(part.received == ByteRangeSet(0..<3_000_000))
    #expect(part.dirtyBytes > 0)
    try part.checkpoint()
    #expect(part.dirtyBytes == 0)
    let digests = try part.digests([.crc32c])
    #expect(
      digests.first == Checksum("crc32c=" + String(CRC32C.of(content), radix: 16).leftPadded(to: 8))
    )
    try part.publish(as: "file.iso", length: 3_000_000, modified: 1_000_000_000, replacing: false)
    part.release()
    #expect(try scratch.names() == ["file.iso"])
    #expect(try scratch.contents("file.iso") == content)
    let status = try #require(try scratch.directory.status(of: "file.iso"))
    #expect(status.mode == 0o666 & ~scratch.disk.creationMask)
    #expect(status.modified == 1_000_000_000)
  }

  @Test func `A checkpoint before the first byte, and one after the end, have no effect`() throws {
    let scratch = try Scratch()
    let part = try scratch.acquire()
    try part.checkpoint()
    try part.begin(try sampleHead(3_000_000))
    try part.write(0..<3_000_000, of: content)
    try part.publish(as: "file.iso", length: 3_000_000, modified: nil, replacing: false)
    try part.checkpoint()
    part.release()
    #expect(try scratch.names() == ["file.iso"])
  }

  @Test func `A write notices that the part file was removed, before the file is whole`() throws {
    let scratch = try Scratch()
    let part = try scratch.acquire()
    try part.begin(try sampleHead(3_000_000))
    try part.write(0..<100, of: content)
    try scratch.directory.unlink("file.iso.haul.part")
    let error = #expect(throws: TransferError.self) {
      try part.write(100..<2_000_000, of: content)
    }
    #expect(error?.code == .io && error?.cause == .lostBytes)
    part.release()
  }

  @Test(arguments: [true, false])
  func `The next run has the claimed bytes, and no more`(strict: Bool) throws {
    let scratch = try Scratch()
    let durability: DownloadRequest.Durability = strict ? .strict : .relaxed
    let first = try scratch.acquire(durability: durability)
    try first.begin(try sampleHead(3_000_000))
    try first.write(500..<2_000_500, of: content)
    first.release()
    let second = try scratch.acquire(durability: durability, nonce: 2)
    #expect(second.recovery.head == (try sampleHead(3_000_000)))
    #expect(second.recovery.received == ByteRangeSet(500..<2_000_500))
    try second.write(0..<500, of: content)
    try second.write(2_000_500..<3_000_000, of: content)
    try second.publish(as: "file.iso", length: 3_000_000, modified: nil, replacing: false)
    second.release()
    #expect(try scratch.contents("file.iso") == content)
    #expect(try scratch.names() == ["file.iso"])
  }

  @Test func `A run that claimed nothing leaves nothing`() throws {
    let scratch = try Scratch()
    let early = try scratch.acquire()
    early.release()
    #expect(try scratch.names().isEmpty)
    let part = try scratch.acquire()
    try part.begin(try sampleHead(100))
    part.release()
    part.release()
    #expect(try scratch.names().isEmpty)
  }

  @Test func `The next run removes an empty journal of a run that was killed at once`() throws {
    let scratch = try Scratch()
    try scratch.put([], as: "file.iso.haul.journal")
    try scratch.acquire().release()
    #expect(try scratch.names().isEmpty)
  }

  @Test func `A second run at the same time is refused and touches nothing`() throws {
    let scratch = try Scratch()
    let part = try scratch.acquire()
    try part.begin(try sampleHead(3_000_000))
    try part.write(0..<1000, of: content)
    let journal = try scratch.contents("file.iso.haul.journal")
    #expect(try code { _ = try scratch.acquire(nonce: 2) } == .inUse)
    #expect(try scratch.contents("file.iso.haul.journal") == journal)
    part.release()
  }

  #if canImport(Glibc)
    @Test
    func `The next run may begin while a program that is being started has copies of the files`()
      throws
    {
      let scratch = try Scratch()
      let part = try scratch.acquire()
      try part.begin(try sampleHead(3_000_000))
      try part.write(0..<1000, of: content)
      let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
      let copies = open.compactMap { number -> Int32? in
        let target = try? FileManager.default.destinationOfSymbolicLink(
          atPath: "/proc/self/fd/\(number)")
        return target?.hasPrefix(scratch.path + "/") == true ? Int32(number).map { dup($0) } : nil
      }
      defer { for copy in copies { close(copy) } }
      #expect(copies.count >= 2)
      part.release()
      try scratch.acquire(nonce: 2).release()
    }
  #endif
}

extension String {
  fileprivate func leftPadded(to width: Int) -> String {
    String(repeating: "0", count: max(0, width - count)) + self
  }

  @Test
  func `A checkpoint before the first byte has no effect, and a release leaves nothing`() throws {
    for durability in [DownloadRequest.Durability.strict, .relaxed] {
      let scratch = try Scratch()
      let part = try scratch.acquire(durability: durability)
      try part.checkpoint()
      part.release()
      #expect(try scratch.names().isEmpty)
    }
  }
}

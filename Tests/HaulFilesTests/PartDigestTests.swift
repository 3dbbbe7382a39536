import HaulCore
import HaulFiles
import HaulTesting
import Testing

/// The digest of a part file while it is written.
@Suite
struct PartDigestTests {
  let content = sampleBytes(3_000_000)

  private func part(_ scratch: Scratch, _ disk: CountingDisk) throws -> PartFile {
    try PartFile.acquire(
      disk: disk, directory: try disk.openDirectory(scratch.path, creating: false),
      name: "file.iso", nonce: Array(repeating: 1, count: 16), durability: .relaxed)
  }

  private func right(_ algorithms: [Checksum.Algorithm]) -> [Checksum] {
    var digest = IncrementalDigest(algorithms)
    content.withUnsafeBytes { digest.update($0) }
    return digest.checksums
  }

  @Test(arguments: [1, 2, 3, 4, 5] as [UInt64])
  func `Bytes written in any order give the file's digest, and only early ones are read back`(
    seed: UInt64
  ) throws {
    for algorithms in Checksum.Algorithm.allCases.map({ [$0] }) + [[.md5, .sha256]] {
      let scratch = try Scratch()
      let disk = CountingDisk(scratch.disk)
      let part = try part(scratch, disk)
      defer { part.release() }
      try part.begin(try sampleHead(3_000_000), digesting: algorithms)
      var pieces = stride(from: 0, to: 3_000_000, by: 250_000).map { $0..<($0 + 250_000) }
      var state = seed
      for index in pieces.indices.reversed() {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        pieces.swapAt(index, Int(state >> 33) % (index + 1))
      }
      var early: Int64 = 0
      var end = 0
      for piece in pieces {
        if piece.lowerBound == end { end = piece.upperBound } else { early += Int64(piece.count) }
        try part.write(piece, of: content)
      }
      #expect(try part.digests(algorithms) == right(algorithms), "seed \(seed)")
      #expect(disk.counter.bytesRead == early, "seed \(seed)")
    }
  }

  @Test
  func `Bytes out of order are read back step by step, and hashing continues from there`() throws {
    let scratch = try Scratch()
    let disk = CountingDisk(scratch.disk)
    let part = try part(scratch, disk)
    defer { part.release() }
    try part.begin(try sampleHead(3_000_000), digesting: [.sha256])
    try part.write(1_000_000..<2_000_000, of: content)
    #expect(part.digestLag == 0)
    try part.write(0..<1_000_000, of: content)
    #expect(part.digestLag == 1_000_000)
    try part.advanceDigest(by: 400_000, isCancelled: { false })
    #expect(part.digestLag == 600_000)
    #expect(try code { try part.advanceDigest(by: 400_000, isCancelled: { true }) } == .cancelled)
    try part.advanceDigest(by: 1 << 20, isCancelled: { false })
    #expect(part.digestLag == 0)
    try part.write(2_000_000..<3_000_000, of: content)
    #expect(try part.digests([.sha256]) == right([.sha256]))
    #expect(disk.counter.bytesRead == 1_000_000)
  }

  @Test func `A new version begins a new digest, and another algorithm reads the file`() throws {
    let scratch = try Scratch()
    let disk = CountingDisk(scratch.disk)
    let part = try part(scratch, disk)
    defer { part.release() }
    try part.begin(try sampleHead(3_000_000, tag: "\"old\""), digesting: [.sha256])
    try part.write(0..<500_000, of: sampleBytes(500_000, seed: 9))
    try part.begin(try sampleHead(3_000_000), digesting: [.sha256])
    try part.write(0..<3_000_000, of: content)
    #expect(try part.digests([.sha256]) == right([.sha256]))
    #expect(disk.counter.bytesRead == 0)
    #expect(try part.digests([.md5]) == right([.md5]))
    #expect(disk.counter.bytesRead == 3_000_000)
  }

  @Test func `The journal keeps the digest that the server announced`() throws {
    let scratch = try Scratch()
    let sum = try #require(Checksum("crc32c=e3069283"))
    let part = try scratch.acquire()
    try part.begin(sampleHead(3_000_000, announced: sum))
    try part.write(0..<1000, of: content)
    part.release()
    let next = try scratch.acquire(nonce: 2)
    #expect(next.recovery.head?.announced == "crc32c=e3069283")
    next.release()
  }
}

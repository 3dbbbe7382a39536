import HaulCore
import HaulFiles
import HaulTesting
import Testing

/// Digests of several messages at once.
@Suite
struct ParallelDigestTests {
  private let algorithms: [Checksum.Algorithm] = [.sha256, .md5, .crc32c]

  @Test(arguments: 1...ParallelDigest.maximumCount)
  func `Each is that of the message by itself`(count: Int) {
    let messages = (0..<count).map { number in
      let bytes = sampleBytes(64 * 37 + number)
      return Array(bytes.dropFirst(number))
    }
    var together = ParallelDigest(algorithms, count: count)
    // In pieces of one block, several, none, and the rest.
    for piece in [0..<64, 64..<640, 640..<640, 640..<64 * 37] {
      add(piece, of: messages, to: &together)
    }
    #expect(together.checksums == messages.map { single($0) })
  }

  @Test func `A message of no bytes has its digest too`() {
    #expect(ParallelDigest(algorithms, count: 2).checksums == [single([]), single([])])
  }

  private func single(_ message: [UInt8]) -> [Checksum] {
    var digest = IncrementalDigest(algorithms)
    message.withUnsafeBytes { digest.update($0) }
    return digest.checksums
  }

  private func add(_ piece: Range<Int>, of messages: [[UInt8]], to digest: inout ParallelDigest) {
    // All of them in one buffer, so that their pointers are valid together.
    let bytes = messages.flatMap { $0[piece] }
    bytes.withUnsafeBytes { buffer in
      digest.update(
        messages.indices.map { index in
          UnsafeRawBufferPointer(rebasing: buffer[(index * piece.count)...].prefix(piece.count))
        })
    }
  }
}

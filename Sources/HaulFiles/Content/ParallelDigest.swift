package import HaulCore

/// Incremental digests of several messages of one length. MD5, which one message at a time cannot
/// do faster, is computed of all at once; other algorithms one message after the other.
package struct ParallelDigest: Sendable {
  /// The most messages.
  package static let maximumCount = MD5Lanes.count
  /// Messages are taken in multiples of this, in bytes.
  package static let block = MD5Lanes.block

  private let algorithms: [Checksum.Algorithm]
  private var lanes = MD5Lanes()
  /// The digests of each message, with all algorithms but MD5.
  private var others: [IncrementalDigest]

  package init(_ algorithms: [Checksum.Algorithm], count: Int) {
    precondition((1...Self.maximumCount).contains(count))
    self.algorithms = algorithms
    others = Array(
      repeating: IncrementalDigest(algorithms.filter { $0 != .md5 }), count: count)
  }

  /// Adds the same number of bytes, a multiple of `block`, to each message.
  package mutating func update(_ messages: [UnsafeRawBufferPointer]) {
    precondition(messages.count == others.count)
    lanes.update(messages)
    for (index, message) in messages.enumerated() { others[index].update(message) }
  }

  /// The digests of all bytes so far: of each message, in the order of the algorithms.
  package var checksums: [[Checksum]] {
    zip(others, lanes.digests(of: others.count)).map { other, md5 in
      let all = other.checksums + [Checksum(.md5, bytes: md5)].compactMap(\.self)
      return algorithms.compactMap { algorithm in all.first { $0.algorithm == algorithm } }
    }
  }
}

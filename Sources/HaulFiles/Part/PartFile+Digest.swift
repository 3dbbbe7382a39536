package import HaulCore
import NIOConcurrencyHelpers

extension PartFile {
  /// Computes digests of bytes while they are written, from now on. Earlier bytes are read back
  /// later.
  package func expectDigests(_ algorithms: [Checksum.Algorithm]) {
    state.withLockedValue { state in
      guard state.digest?.algorithms ?? [] != algorithms else { return }
      state.digest = algorithms.isEmpty ? nil : PrefixDigest(algorithms)
    }
  }

  /// The number of bytes after the hashed ones that were written out of order and must be read
  /// back.
  package var digestLag: Int64 {
    state.withLockedValue { state in
      state.digest.map { state.prefixEnd - $0.position } ?? 0
    }
  }

  /// Reads some of these bytes back.
  /// - Throws: `cancelled`, `io`.
  package func advanceDigest(by limit: Int64, isCancelled: () -> Bool) throws(TransferError) {
    let work = try locked { state throws(TransferError) in
      state.digest.map { ($0, state.part, min(state.prefixEnd, $0.position + limit)) }
    }
    guard case let (digest, file?, end)? = work else { return }
    try digest.read(upTo: end, of: file, isCancelled: isCancelled)
  }

  /// The digests of the whole file. Bytes that were not hashed while they were written are read
  /// from disk.
  /// - Throws: `cancelled`, `length-mismatch`, `io`.
  package func digests(
    _ algorithms: [Checksum.Algorithm], isCancelled: () -> Bool = { false }
  ) throws(TransferError) -> [Checksum] {
    let (part, length, running) = try locked { state throws(TransferError) in
      let part = try state.openPart()
      try state.claimIdle()
      return (part, state.claimed.ranges.last?.upperBound ?? 0, state.digest)
    }
    if let running, running.algorithms == algorithms {
      try running.read(upTo: length, of: part, isCancelled: isCancelled)
      if let checksums = running.checksums(of: length) { return checksums }
    }
    return try FileHasher.digests(algorithms, of: part, length: length, isCancelled: isCancelled)
  }
}

extension PartState {
  /// Everything before this was written.
  fileprivate var prefixEnd: Int64 {
    let written = open.reduce(into: claimed) { $0.insert(contentsOf: $1.range) }
    guard let first = written.ranges.first, first.lowerBound == 0 else { return 0 }
    return first.upperBound
  }
}

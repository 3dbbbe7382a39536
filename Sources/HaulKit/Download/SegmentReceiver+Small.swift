import HaulCore

/// A small file of one answer: its bytes are collected, and handed to the target once.
extension SegmentReceiver {
  /// What is collected at most: with many transfers at once all of them hold so much.
  private static let longestCollected: Int64 = 128 << 10

  /// Whether the body is the whole of a new version, and short.
  var isSmall: Bool {
    guard let begin, let length = begin.length, target.takesSmallFiles else { return false }
    return body.start == 0 && body.end == length && length <= Self.longestCollected
  }

  /// As `run`. What came before a failure is written as well.
  func runSmall(_ silence: Silence) async -> End {
    var pieces: [(bytes: ChunkSlice, offset: Int64)] = []
    let end: End
    do {
      end = try await collect(&pieces, silence)
    } catch let error as TransferError {
      end = .failed(error)
    } catch {
      end = .failed(stopped)
    }
    return await put(pieces, end)
  }

  /// As `run`, for a whole body that is there already.
  func put(collected chunks: [any ByteChunk]) async -> End {
    var pieces: [(bytes: ChunkSlice, offset: Int64)] = []
    var (position, isWhole) = (body.start, false)
    for chunk in chunks where !isWhole {
      isWhole = reserve(chunk, from: 0, count: chunk.count, &position, &pieces)
    }
    return await put(pieces, isWhole ? .ended : Self.endedEarly)
  }

  private static let endedEarly = End.failed(
    TransferError(.connectionLost, "the body ended early", isRetryable: true))

  private func put(_ pieces: [(bytes: ChunkSlice, offset: Int64)], _ end: End) async -> End {
    guard let begin, !pieces.isEmpty else { return end }
    do {
      try await target.put(
        pieces, as: begin, checksums: checksums, onOwnThread: response.executor != nil)
    } catch let error as TransferError {
      return .failed(error)
    } catch {
      return .failed(TransferError(.interrupted, "stopped", isRetryable: true))
    }
    plan.update { $0.plan.wrote(id) }
    delivered()
    return end
  }

  private func collect(
    _ pieces: inout [(bytes: ChunkSlice, offset: Int64)], _ silence: Silence
  ) async throws -> End {
    var chunks = response.body.makeAsyncIterator()
    var position = body.start
    while true {
      silence.begin(at: engine.clock.now)
      guard let chunk = try await chunks.next(isolation: #isolation) else {
        try Task.checkCancellation()
        return Self.endedEarly
      }
      silence.end()
      var offset = 0
      while offset < chunk.count {
        let count = try await engine.take(upTo: chunk.count - offset, for: transfer)
        if reserve(chunk, from: offset, count: count, &position, &pieces) { return .ended }
        offset += count
      }
    }
  }

  /// Takes what belongs to the segment; true when that was its last byte.
  private func reserve(
    _ chunk: any ByteChunk, from offset: Int, count: Int, _ position: inout Int64,
    _ pieces: inout [(bytes: ChunkSlice, offset: Int64)]
  ) -> Bool {
    let grant = plan.update { state in
      state.fetched += Int64(count)
      return state.plan.reserve(id, count: count)
    }
    for piece in grant.pieces {
      let start = offset + Int(piece.lowerBound - position)
      pieces.append(
        (ChunkSlice(chunk, start..<(start + Int(piece.length))), piece.lowerBound))
    }
    position += Int64(grant.used)
    return grant.isLast
  }
}

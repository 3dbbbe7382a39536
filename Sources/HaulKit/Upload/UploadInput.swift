import HaulCore
import HaulFiles

/// Where the bytes of an upload are read from.
enum UploadInput: Sendable {
  case files([UploadSource])
  case stream(UploadStream)
  /// Its server was not asked yet how it can be read.
  case unknown(DownloadRequest)
  case remote(RemoteSource)

  /// What a part is read from that is not in a file.
  var remote: RemoteSource? { if case .remote(let source) = self { source } else { nil } }
  var stream: UploadStream? { if case .stream(let stream) = self { stream } else { nil } }

  /// The bytes that it may have; nil before the server of a remote source was asked.
  var lengthAtStart: Int64? {
    switch self {
    case .files(let sources): sources[0].identity.size
    case .unknown: nil
    case .stream, .remote: .max
    }
  }

  /// Bytes of a file, or of what is held of the stream.
  func read(
    _ count: Int, of file: Int, at offset: Int64, _ engine: Engine
  ) async throws(TransferError) -> [UInt8] {
    switch self {
    case .files(let sources):
      try await engine.io.run { () throws(TransferError) in
        try sources[file].read(count, at: offset)
      }
    case .stream(let stream): try await stream.held(count, at: offset)
    case .remote(let source): try source.held(count, at: offset)
    case .unknown: throw TransferError(.internal, "the source was not asked")
    }
  }

  private static let digestStep = 256 << 10
  /// A digest of so few bytes in memory takes less than the change of the thread.
  private static let quickDigest = 16 << 10

  /// The digests of a part, read in steps between which it can be stopped; nil if it was.
  func digest(
    of range: ByteRange, part: Int, _ algorithms: [Checksum.Algorithm], unless stop: StopSignal,
    _ engine: Engine
  ) async throws(TransferError) -> [Checksum]? {
    if let remote, try await remote.hold(part, range, unless: stop, engine) == nil { return nil }
    var digest = IncrementalDigest(algorithms)
    var rest = range
    while !rest.isEmpty, !stop.isStopped, !Task.isCancelled {
      let count = Int(min(rest.length, Int64(Self.digestStep)))
      digest = try await adding(count, at: rest.lowerBound, to: digest, engine)
      rest = (rest.lowerBound + Int64(count))..<rest.upperBound
    }
    return rest.isEmpty && !stop.isStopped ? digest.checksums : nil
  }

  /// A digest with these bytes added to it.
  private func adding(
    _ count: Int, at offset: Int64, to digest: IncrementalDigest, _ engine: Engine
  ) async throws(TransferError) -> IncrementalDigest {
    var held = try remote?.held(count, at: offset)
    if let stream { held = try await stream.held(count, at: offset) }
    if let held, held.count <= Self.quickDigest {
      var next = digest
      held.withUnsafeBytes { next.update($0) }
      return next
    }
    return try await engine.io.run { [held] () throws(TransferError) in
      var next = digest
      if case .files(let sources) = self {
        try sources[0].read(count, at: offset).withUnsafeBytes { next.update($0) }
      }
      held?.withUnsafeBytes { next.update($0) }
      return next
    }
  }

  /// Compares the files with what they were. All parts of a remote source are of one version.
  /// - Throws: `source-changed`, `source-unreadable`.
  func check(_ engine: Engine) async throws(TransferError) {
    guard case .files(let sources) = self else { return }
    try await engine.io.run { () throws(TransferError) in
      for source in sources { try source.check() }
    }
  }

  func close() {
    switch self {
    case .files(let sources): for source in sources { source.close() }
    case .stream(let stream): stream.close()
    case .remote(let source): source.releaseAll()
    case .unknown: break
    }
  }
}

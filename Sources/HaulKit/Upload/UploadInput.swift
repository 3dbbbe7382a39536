import HaulCore
import HaulFiles

/// Where the bytes of an upload are read from.
enum UploadInput: Sendable {
  case files([UploadSource])
  case stream(UploadStream)

  var stream: UploadStream? { if case .stream(let stream) = self { stream } else { nil } }

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
    }
  }

  /// A digest with these bytes added to it.
  func adding(
    _ count: Int, at offset: Int64, to digest: IncrementalDigest, _ engine: Engine
  ) async throws(TransferError) -> IncrementalDigest {
    let held = try await stream?.held(count, at: offset)
    return try await engine.io.run { () throws(TransferError) in
      var next = digest
      if case .files(let sources) = self {
        try sources[0].read(count, at: offset).withUnsafeBytes { next.update($0) }
      }
      held?.withUnsafeBytes { next.update($0) }
      return next
    }
  }

  /// Compares the files with what they were.
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
    }
  }
}

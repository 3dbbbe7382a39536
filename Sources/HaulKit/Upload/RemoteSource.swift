import Crypto
import FoundationEssentials
import HaulCore
import HaulFiles
import NIOConcurrencyHelpers

/// A remote resource that is uploaded in parts. A part is held in memory until the store has it, so
/// that it can be sent again.
final class RemoteSource: Sendable {
  private struct State {
    /// Everything, if the first answer had it; for one use.
    var whole: [UInt8]?
    var isTargetAbsent = false
    /// By number.
    var held: [Int: (range: ByteRange, bytes: [UInt8])] = [:]
    /// The digest of the bytes from the beginning, and how many they are.
    var digest: IncrementalDigest
    var digested: Int64 = 0
  }

  let request: DownloadRequest
  let version: RemoteVersion
  let identity: SourceIdentity
  private let state: NIOLockedValueBox<State>

  /// - Parameter whole: its bytes, if they were read before the store was asked what it has.
  init(_ request: DownloadRequest, _ version: RemoteVersion, whole: [UInt8]?) {
    self.request = request
    self.version = version
    identity = SourceIdentity(version, address: Self.digest(of: request.url))
    state = NIOLockedValueBox(
      State(whole: whole, digest: IncrementalDigest(request.checksums.map(\.algorithm))))
  }

  /// The most parts that are fetched at once: a digest needs them in order.
  var connections: Int { request.checksums.isEmpty ? max(1, request.connections) : 1 }

  private static func digest(of url: ResourceURL) -> String {
    let bytes = Array(SHA256.hash(data: Data(url.absoluteString.utf8)))
    return Checksum(.sha256, bytes: bytes)?.hex ?? ""
  }

  /// Fetches a part, unless it is held.
  /// - Returns: its bytes; nil if it was stopped.
  /// - Throws: `source-changed`; `checksum-mismatch` if the whole has another digest.
  func hold(
    _ part: Int, _ range: ByteRange, unless stop: StopSignal, _ engine: Engine
  ) async throws(TransferError) -> [UInt8]? {
    if let held = state.withLockedValue({ $0.held[part]?.bytes }) { return held }
    guard try await digest(upTo: range.lowerBound, unless: stop, engine) else { return nil }
    var found = takeWhole(range)
    if found == nil { found = try await fetch(range, unless: stop, engine) }
    guard let bytes = found else { return nil }
    try await add(bytes, at: range.lowerBound, engine)
    state.withLockedValue { $0.held[part] = (range, bytes) }
    return bytes
  }

  /// The store has nothing under the name, and will take nothing if another run is first. Only then
  /// the bytes that were read before cannot replace those of a newer version.
  func noteAbsentTarget() { state.withLockedValue { $0.isTargetAbsent = true } }

  private func takeWhole(_ range: ByteRange) -> [UInt8]? {
    state.withLockedValue { state in
      guard state.isTargetAbsent, range == 0..<version.length else { return nil }
      return state.whole.take()
    }
  }

  /// Bytes of a part that is held.
  /// - Throws: `interrupted` if it no longer is: nobody needs it any more.
  func held(_ count: Int, at offset: Int64) throws(TransferError) -> [UInt8] {
    let bytes = state.withLockedValue { state -> [UInt8]? in
      let range = offset..<(offset + Int64(count))
      guard let part = state.held.values.first(where: { $0.range.contains(range) }) else {
        return nil
      }
      let start = Int(offset - part.range.lowerBound)
      return Array(part.bytes[start..<(start + count)])
    }
    guard let bytes else { throw TransferError(.interrupted, "it was stopped") }
    return bytes
  }

  /// The store has this part.
  func release(_ part: Int) { state.withLockedValue { $0.held[part] = nil } }

  /// Releases all parts but the first: a transfer that waits should not need much memory.
  func releaseMost() {
    state.withLockedValue { state in
      let first = state.held.keys.min()
      state.held = state.held.filter { $0.key == first }
    }
  }

  func releaseAll() { state.withLockedValue { ($0.held, $0.whole) = ([:], nil) } }

  /// Fetches the bytes up to here that were not digested: those of parts of an earlier run.
  /// - Returns: false if it was stopped.
  func digest(
    upTo end: Int64, unless stop: StopSignal, _ engine: Engine
  ) async throws(TransferError) -> Bool {
    guard !request.checksums.isEmpty else { return true }
    while true {
      let start = state.withLockedValue { $0.digested }
      guard start < end else { return true }
      let range = start..<min(end, start + Int64(UploadExtent.window))
      guard let bytes = try await fetch(range, unless: stop, engine) else { return false }
      try await add(bytes, at: start, engine)
    }
  }

  /// Adds bytes to the digest, if they come next, and compares it at the end.
  private func add(
    _ bytes: [UInt8], at offset: Int64, _ engine: Engine
  ) async throws(TransferError) {
    guard !request.checksums.isEmpty else { return }
    let found = try await engine.io.run { [state] () throws(TransferError) in
      var (digest, digested) = state.withLockedValue { ($0.digest, $0.digested) }
      guard digested == offset else { return [Checksum]() }
      bytes.withUnsafeBytes { digest.update($0) }
      digested += Int64(bytes.count)
      state.withLockedValue { ($0.digest, $0.digested) = (digest, digested) }
      return digested == self.version.length ? digest.checksums : []
    }
    if !found.isEmpty { try request.compare(found) }
  }

  /// - Returns: false if it was stopped.
  /// - Throws: `source-changed` if its server has another version.
  func checkVersion(unless stop: StopSignal, _ engine: Engine) async throws(TransferError) -> Bool {
    try await fetch(0..<min(1, version.length), unless: stop, engine) != nil
  }

  /// How often a change is asked for again: the nodes of a server may differ for a moment.
  private static let confirmations = 2

  private func fetch(
    _ range: ByteRange, unless stop: StopSignal, _ engine: Engine
  ) async throws(TransferError) -> [UInt8]? {
    var confirmations = 0
    while true {
      do throws(TransferError) {
        return try await fetchOnce(range, unless: stop, engine)
      } catch {
        guard error.code == .sourceChanged, confirmations < Self.confirmations else { throw error }
        confirmations += 1
        guard await engine.pause(.seconds(1), unless: stop) else { return nil }
      }
    }
  }

  private func fetchOnce(
    _ range: ByteRange, unless stop: StopSignal, _ engine: Engine
  ) async throws(TransferError) -> [UInt8]? {
    let fetch = version.request(for: range, of: request)
    return try await engine.read(unless: stop) { [version] timer in
      let response = try await engine.fetchSource(fetch, timer)
      try version.check(
        response.head, to: fetch, for: range, wallSeconds: engine.clock.wallSeconds)
      return try await engine.bytes(range.length, of: response, timer)
    }
  }
}

extension ByteRange {
  fileprivate func contains(_ other: ByteRange) -> Bool {
    lowerBound <= other.lowerBound && other.upperBound <= upperBound
  }
}

extension DownloadRequest {
  /// The same, whose bytes must also have the digest that the server states.
  func requiring(_ stated: Checksum?) -> DownloadRequest {
    guard let stated, !checksums.contains(where: { $0.algorithm == stated.algorithm }) else {
      return self
    }
    var request = self
    request.checksums.append(stated)
    return request
  }

  /// - Throws: `checksum-mismatch` if one of its digests is not among those that were found.
  func compare(_ found: [Checksum]) throws(TransferError) {
    guard let (expected, got) = checksums.mismatch(with: found) else { return }
    throw TransferError.source(
      .checksumMismatch,
      "has the \(expected.algorithm.rawValue) \(got), not \(expected.hex)")
  }
}

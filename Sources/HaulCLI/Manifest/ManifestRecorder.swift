import HaulControl
import HaulCore
import HaulKit

/// Appends a line to the manifest of a run for each end.
actor ManifestRecorder {
  private let file: ManifestFile
  /// How many files the input has.
  private let count: Int
  private let clock: any TransferClock
  /// The first ones that are left to do, with absolute paths, until their transfers are known.
  private var first: [TransferRequest]
  private var requests: [TransferID: TransferRequest] = [:]
  /// The files of this machine that are sent, as they were before.
  private var versions: [String: ManifestFile.Version] = [:]
  /// Why the manifest does not have all ends.
  private var problem: TransferError?

  /// - Parameters:
  ///   - requests: the first ones that are left to do.
  ///   - further: how many follow them.
  init(
    _ manifest: RunManifest, _ requests: [TransferRequest], further: Int,
    _ clock: any TransferClock
  ) throws(TransferError) {
    if let problem = manifest.problem { throw problem }
    (self.clock, count) = (clock, manifest.complete + requests.count + further)
    // In another directory, the same relative path is another file.
    first = try WorkingDirectory.resolve(requests, in: WorkingDirectory.path)
    file = try ManifestFile(manifest.path)
    for path in first.compactMap(\.localSource) {
      versions[path] = ManifestFile.version(of: path)
    }
  }

  /// Notes the sources of further requests, before they are added.
  func willAdd(_ requests: [TransferRequest]) throws(TransferError) {
    for request in try WorkingDirectory.resolve(requests, in: WorkingDirectory.path) {
      if let path = request.localSource { versions[path] = ManifestFile.version(of: path) }
    }
  }

  /// - Parameter transfers: those of the first requests that are left, in the same order.
  func begin(_ transfers: [Transfer]) async {
    for (transfer, request) in zip(transfers, first) { requests[transfer.id] = request }
    first = []
    await append(ManifestLine.beginning(files: count))
  }

  /// Takes further transfers, before their events.
  func note(_ transfers: [Transfer], of requests: [TransferRequest]) throws(TransferError) {
    let absolute = try WorkingDirectory.resolve(requests, in: WorkingDirectory.path)
    for (transfer, request) in zip(transfers, absolute) { self.requests[transfer.id] = request }
  }

  func note(_ events: [TransferEvent]) async {
    var lines = ""
    for event in events {
      guard case .finished(let result) = event.kind,
        let request = requests.removeValue(forKey: event.id)
      else { continue }
      do {
        var line = ManifestLine(result, of: request, wallSeconds: clock.wallSeconds)
        let sent = request.localSource.flatMap { versions.removeValue(forKey: $0)?.modified }
        // Nothing says that the server has this version.
        let modified = result.verified == nil && !result.isAdopted ? nil : sent
        line.modified = modified ?? line.path.flatMap { Self.dated($0, bytes: line.bytes) }
        lines += try line.text()
      } catch {
        problem = TransferError(.internal, "a line of the manifest cannot be written: \(error)")
      }
    }
    if !lines.isEmpty { await append(lines) }
  }

  /// Its date; nil if the file is not as long as the one that was got.
  private static func dated(_ path: String, bytes: Int64) -> Double? {
    ManifestFile.version(of: path).flatMap { $0.size == bytes ? $0.modified : nil }
  }

  private func append(_ lines: String) async {
    do {
      try await file.append(lines)
    } catch {
      problem = error
    }
  }

  /// - Throws: why the manifest does not have all ends.
  func finish() throws(TransferError) {
    if let problem { throw problem }
    try file.finish()
  }
}

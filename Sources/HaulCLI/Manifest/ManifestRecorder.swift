import HaulCore
import HaulKit

/// Leaves out of a run what its manifest has as complete, and appends a line for each end.
actor ManifestRecorder {
  private let file: ManifestFile
  /// How many files the input has.
  private let count: Int
  private let clock: any TransferClock
  private var requests: [TransferID: TransferRequest] = [:]
  /// Why the manifest does not have all ends.
  private(set) var problem: TransferError?

  /// - Parameters:
  ///   - path: of the manifest.
  ///   - requests: loses what is complete.
  init(
    _ path: String, _ requests: inout [(request: TransferRequest, index: Int)],
    _ clock: any TransferClock
  ) throws(TransferError) {
    (self.clock, count) = (clock, requests.count)
    var isLocal: [ManifestLine.ID: Bool] = [:]
    for request in requests.map(\.request) {
      isLocal[ManifestLine.ID(of: request)] = request.download != nil
    }
    var complete: Set<ManifestLine.ID> = []
    file = try ManifestFile(path) { line in
      guard let id = ManifestLine.completed(line), let isLocal = isLocal[id] else { return }
      // A file of this machine may have been removed since, or replaced.
      if !isLocal || ManifestLine(line)?.isThere == true {
        complete.insert(id)
      } else {
        complete.remove(id)
      }
    }
    requests.removeAll { complete.contains(ManifestLine.ID(of: $0.request)) }
  }

  /// The transfers of the requests, in the same order.
  func begin(_ transfers: [Transfer], of all: [TransferRequest]) async {
    for (transfer, request) in zip(transfers, all) { requests[transfer.id] = request }
    await append(ManifestLine.beginning(files: count))
  }

  func note(_ events: [TransferEvent]) async {
    var lines = ""
    for event in events {
      guard case .finished(let result) = event.kind,
        let request = requests.removeValue(forKey: event.id)
      else { continue }
      do {
        lines += try ManifestLine(result, of: request, wallSeconds: clock.wallSeconds).text()
      } catch {
        problem = TransferError(.internal, "a line of the manifest cannot be written: \(error)")
      }
    }
    if !lines.isEmpty { await append(lines) }
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

extension ManifestLine {
  /// Whether its file is on this machine, with its length.
  fileprivate var isThere: Bool {
    path.map { ManifestFile.isThere($0, bytes: bytes) } ?? false
  }
}

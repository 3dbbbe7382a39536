import HaulControl
import HaulCore
import HaulKit

/// Leaves out of a run what its manifest has as complete, and appends a line for each end.
actor ManifestRecorder {
  private let file: ManifestFile
  /// How many files the input has.
  private let count: Int
  private let clock: any TransferClock
  /// What is left to do, with absolute paths; by its transfers once they are known.
  private let rest: [TransferRequest]
  private var requests: [TransferID: TransferRequest] = [:]
  /// Why the manifest does not have all ends.
  private var problem: TransferError?

  /// - Parameters:
  ///   - path: of the manifest.
  ///   - requests: loses what is complete.
  init(
    _ path: String, _ requests: inout [(request: TransferRequest, index: Int)],
    _ clock: any TransferClock
  ) throws(TransferError) {
    (self.clock, count) = (clock, requests.count)
    // In another directory, the same relative path is another file.
    let absolute = try WorkingDirectory.resolve(
      requests.map(\.request), in: WorkingDirectory.path)
    let ids = absolute.map { ManifestLine.ID(of: $0) }
    let wanted = Dictionary(zip(ids, absolute)) { first, _ in first }
    // As `ManifestSum`: by how many runs had begun.
    var (runs, complete) = (0, [ManifestLine.ID: Int]())
    file = try ManifestFile(path) { line in
      if ManifestLine.files(line) != nil {
        runs += 1
        return true
      }
      guard let (id, isComplete) = ManifestLine.end(line) else { return false }
      guard let request = wanted[id] else { return true }
      if isComplete {
        complete[id] = request.isSettled(by: line) ? runs : nil
      } else if let run = complete[id], run < runs {
        complete[id] = nil
      }
      return true
    }
    requests = zip(requests, ids).filter { complete[$0.1] == nil }.map(\.0)
    rest = zip(absolute, ids).filter { complete[$0.1] == nil }.map(\.0)
  }

  /// - Parameter transfers: those of the requests that are left, in the same order.
  func begin(_ transfers: [Transfer]) async {
    for (transfer, request) in zip(transfers, rest) { requests[transfer.id] = request }
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

extension TransferRequest {
  /// Whether a line that says that it is complete still holds: a file of this machine must be there
  /// with its length, and a digest that is asked for must have been checked.
  fileprivate func isSettled(by line: some Collection<UInt8>) -> Bool {
    let checksums = download?.checksums ?? upload?.download?.checksums ?? []
    guard download != nil || !checksums.isEmpty else { return true }
    guard let line = ManifestLine(line), checksums.allSatisfy({ $0.description == line.checksum })
    else { return false }
    return download == nil
      || line.path.map { ManifestFile.isThere($0, bytes: line.bytes) } ?? false
  }
}

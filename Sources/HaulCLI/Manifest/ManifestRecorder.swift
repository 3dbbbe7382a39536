import HaulControl
import HaulCore
import HaulKit

/// Leaves out of a run what its manifest has as complete, and appends a line for each end.
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
  ///   - path: of the manifest.
  ///   - requests: the first ones of the input; loses what is complete.
  ///   - rest: what follows them; it loses the same.
  init(
    _ path: String, _ requests: inout [(request: TransferRequest, index: Int)],
    _ rest: inout InputRest?, _ clock: any TransferClock
  ) throws(TransferError) {
    (self.clock, count) = (clock, requests.count + (rest?.count ?? 0))
    // In another directory, the same relative path is another file.
    let absolute = try WorkingDirectory.resolve(
      requests.map(\.request), in: WorkingDirectory.path)
    let ids = absolute.map { ManifestLine.ID(of: $0) }
    var complete = CompleteLines(rest == nil ? Set(ids) : nil)
    let file = try ManifestFile(path) { complete.take($0) }
    let left = try zip(absolute, ids).map { (request, id) throws(TransferError) in
      try !complete.settle(request, id, in: file)
    }
    requests = zip(requests, left).filter(\.1).map(\.0)
    first = zip(absolute, left).filter(\.1).map(\.0)
    if let whole = rest { rest = try Self.left(of: whole, complete, file) }
    self.file = file
    for request in first {
      if let path = request.localSource { versions[path] = ManifestFile.version(of: path) }
    }
  }

  /// Notes the sources of further requests, before they are added.
  func willAdd(_ requests: [TransferRequest]) throws(TransferError) {
    for request in try WorkingDirectory.resolve(requests, in: WorkingDirectory.path) {
      if let path = request.localSource { versions[path] = ManifestFile.version(of: path) }
    }
  }

  /// What is left of a long input; nil if nothing is.
  private static func left(
    of rest: InputRest, _ complete: CompleteLines, _ file: ManifestFile
  ) throws(TransferError) -> InputRest? {
    var (reader, leftOut) = (rest.reader, [UInt32]())
    while true {
      let some: [(request: TransferRequest, index: Int)]
      do throws(UsageError) {
        some = try reader.next(atMost: GetPlan.checkedAtOnce)
      } catch {
        throw TransferError(.io, error.message)
      }
      if some.isEmpty { return rest.leavingOut(leftOut) }
      let absolute = try WorkingDirectory.resolve(
        some.map(\.request), in: WorkingDirectory.path)
      for (request, transfer) in zip(absolute, some) {
        let id = ManifestLine.ID(of: request)
        if try complete.settle(request, id, in: file) { leftOut.append(UInt32(transfer.index)) }
      }
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
        line.modified = request.localSource.flatMap { versions.removeValue(forKey: $0)?.modified }
        lines += try line.text()
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

/// The last line of each file that a manifest has as complete. A manifest may be longer than the
/// memory: of each line only the place is held.
private struct CompleteLines {
  /// Of a line: where it begins, and how many runs had begun, in one number.
  private var places: [UInt64: UInt64] = [:]
  /// Nil for all.
  private let wanted: Set<ManifestLine.ID>?
  private var offset: UInt64 = 0
  private var runs: UInt64 = 0

  private static let runBits: UInt64 = 24

  init(_ wanted: Set<ManifestLine.ID>?) { self.wanted = wanted }

  /// As `ManifestSum`: by how many runs had begun.
  /// - Returns: whether it is a line of a manifest.
  mutating func take(_ line: ArraySlice<UInt8>) -> Bool {
    defer { offset += UInt64(line.count) + 1 }
    if ManifestLine.files(line) != nil {
      runs = min(runs + 1, 1 << Self.runBits - 1)
      return true
    }
    guard let (id, isComplete) = ManifestLine.end(line) else { return false }
    guard wanted?.contains(id) ?? true else { return true }
    if isComplete {
      places[id.low] = offset << Self.runBits | runs
    } else if let place = places[id.low], place & (1 << Self.runBits - 1) < runs {
      places[id.low] = nil
    }
    return true
  }

  /// Whether nothing is left to do for a request.
  func settle(
    _ request: TransferRequest, _ id: ManifestLine.ID, in file: ManifestFile
  ) throws(TransferError) -> Bool {
    guard let place = places[id.low] else { return false }
    let line = try file.line(at: Int64(place >> Self.runBits))
    // Two files may have the same half of an id: then both are asked for.
    return ManifestLine.end(line)?.id == id && request.isSettled(by: line)
  }
}

extension TransferRequest {
  /// Whether a line that says that it is complete still holds: a file of this machine must be there
  /// with its length, a digest that is asked for must have been checked, and an unverified file
  /// must be allowed. One that was sent must be as it was.
  fileprivate func isSettled(by line: some Collection<UInt8>) -> Bool {
    if let path = localSource {
      guard upload?.isDirectory == false else { return true }
      guard let line = ManifestLine(line), let version = ManifestFile.version(of: path) else {
        return false
      }
      return (line.bytes, line.modified) == (version.size, version.modified)
    }
    let checksums = download?.checksums ?? upload?.download?.checksums ?? []
    guard download != nil || !checksums.isEmpty else { return true }
    guard let line = ManifestLine(line), checksums.allSatisfy({ $0.description == line.checksum })
    else { return false }
    guard let download else { return true }
    return (line.verified != .unverified || download.allowUnverified)
      && line.path.map { ManifestFile.isThere($0, bytes: line.bytes) } ?? false
  }
}

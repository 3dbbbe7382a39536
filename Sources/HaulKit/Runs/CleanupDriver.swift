import HaulCore
import HaulFiles

/// Deletes what earlier runs of a cancelled transfer left.
struct CleanupDriver: TransferDriver {
  /// Nil if nothing can be left.
  let request: DownloadRequest?
  var serverName: FileName?
  var previous: PreviousRun

  func run(_ context: RunContext) async -> RunEnd {
    if let request, request.destination != .stream {
      let engine = context.engine
      // What cannot be removed now stays a part file, which a later run adopts.
      try? await engine.io.run { [id = context.id] () throws(TransferError) in
        do throws(TransferError) {
          try discard(request, of: id, engine)
        } catch {
          guard error.cause == .noRoom, let location = previous.location else { throw error }
          try location.discard(request.url, on: engine.disk(of: request))
        }
      }
    }
    return .finished(TransferResult(state: .cancelled))
  }

  private func discard(
    _ request: DownloadRequest, of id: TransferID, _ engine: Engine
  ) throws(TransferError) {
    let outcome = try TargetSearch.find(
      for: request, of: id, serverName: serverName, previous: previous, in: engine)
    guard case .claimed(let claim) = outcome else { return }
    defer { engine.targets.release(claim.key) }
    // Under an exact name, a run would adopt any part file, so any is deleted.
    guard
      request.destination.isExact
        || previous.owns(claim.part, claim.name, in: claim.directory, of: request)
    else { return claim.part.release() }
    try claim.part.discard()
  }
}

import HaulCore
import HaulFiles
import NIOConcurrencyHelpers

/// Publishes small finished files that are ready at the same time as one group: they share the
/// change of threads and, when strict, the sync of their directory.
final class GroupPublisher: Sendable {
  /// The path of the file.
  typealias PublishResult = Result<String?, TransferError>

  private struct Entry: Sendable {
    let claim: TargetClaim
    let length: Int64
    let modified: Double?
    let completionHandler: @Sendable (PublishResult) -> Void
  }

  private struct State {
    var waiting: [Entry] = []
    var isRunning = false
  }

  /// Limited, because a crash before the report of a file makes the next run fetch it again.
  private static let maximumGroup = 512
  private let io: BlockingIO
  private let state = NIOLockedValueBox(State())

  init(io: BlockingIO) { self.io = io }

  /// Publishes a file under its final name; then releases the part file.
  /// - Parameter completionHandler: called once, on a helper thread.
  func publish(
    _ claim: TargetClaim, length: Int64, modified: Double?,
    _ completionHandler: @escaping @Sendable (PublishResult) -> Void
  ) {
    let entry = Entry(
      claim: claim, length: length, modified: modified, completionHandler: completionHandler)
    let mustRun = state.withLockedValue { state in
      state.waiting.append(entry)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if mustRun { io.start { self.run(isStopped: $0) } }
  }

  private func run(isStopped: Bool) {
    while let group = next() {
      if isStopped {
        for entry in group { entry.completionHandler(.failure(Self.threadsStoppedError)) }
      } else {
        commit(group)
      }
    }
  }

  static let threadsStoppedError = TransferError(.cancelled, "the file threads have been stopped")

  private func next() -> [Entry]? {
    state.withLockedValue { state in
      guard !state.waiting.isEmpty else {
        state.isRunning = false
        return nil
      }
      let all = state.waiting
      state.waiting = Array(all.dropFirst(Self.maximumGroup))
      return all.count > Self.maximumGroup ? Array(all.prefix(Self.maximumGroup)) : all
    }
  }

  private func commit(_ group: [Entry]) {
    let results = PartFile.publish(
      group.map { entry in
        PendingPublication(
          of: entry.claim.part, entry.claim.name.text, length: entry.length,
          modified: entry.modified, replacing: entry.claim.mayReplace)
      }, forEach: io.forEach)
    for (entry, result) in zip(group, results) {
      let published = Self.publishResult(of: entry, result)
      if case .success = published { entry.claim.part.release() }
      entry.completionHandler(published)
    }
  }

  private static func publishResult(of entry: Entry, _ result: Result<Void, TransferError>)
    -> PublishResult
  {
    switch result {
    case .success: return .success(entry.claim.path)
    case .failure(let error) where error.code == .nameConflict && entry.claim.mayOutliveConflict:
      return Result { () throws(TransferError) in
        let name = try entry.claim.publish(length: entry.length, modified: entry.modified)
        return entry.claim.directory.filePath(name.text)
      }
    case .failure(let error): return .failure(error)
    }
  }
}

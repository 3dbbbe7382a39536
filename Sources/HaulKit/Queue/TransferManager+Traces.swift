import HaulCore
import HaulFiles

/// What finished files leave on the disk until their end is stored.
extension TransferManager {
  /// Takes it away.
  func tidy(_ ended: [MemberRun]) async {
    let traces = ended.compactMap(\.onceStored)
    guard !traces.isEmpty else { return }
    // Threads that have been stopped leave litter at worst: the next opening takes it away.
    try? await engine.io.run { for remove in traces { remove() } }
  }

  /// More ends than one change ever stores.
  private static let lastEnds = 2000

  /// Takes away what a process left that died between storing the last ends and `tidy`.
  func tidyAfterCrash() async {
    let first = max(queue.lastEvent - Self.lastEnds, 1)
    // Litter at worst.
    let events = (try? await store.events(from: first, atMost: .max)) ?? []
    let paths = events.compactMap { event in
      if case .finished(let result) = event.kind { result.path } else { nil }
    }
    guard !paths.isEmpty else { return }
    try? await engine.io.run { [engine] in
      for path in paths { try? PartFile.removeKeptJournal(of: path, on: engine.disk) }
    }
  }
}

extension PartFile {
  /// - Parameter path: of the finished file.
  fileprivate static func removeKeptJournal(of path: String, on disk: any Disk) throws {
    let (parent, name) = path.pathParts
    let directory = try TargetCheck.openDirectory(parent, on: disk, creating: false)
    try removeKeptJournal(of: name, in: directory, on: disk)
  }
}

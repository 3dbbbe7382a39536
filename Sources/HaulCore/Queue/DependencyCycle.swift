/// Finds a cycle among dependencies: a depth-first search with its own stack, so that chains may
/// have any length.
enum DependencyCycle {
  /// A step on the path from a start to the present transfer.
  private struct Step {
    let id: TransferID
    let after: [TransferID]
    var next = 0
  }

  /// The first cycle that is found: each id once, followed by one that it depends on; nil without a
  /// cycle. O(transfers and dependencies that the starts reach).
  static func search(
    from starts: [TransferID], after: (TransferID) -> [TransferID]
  ) -> [TransferID]? {
    var path: [Step] = []
    /// The visited transfers: true while a transfer is on the path.
    var isOnPath: [TransferID: Bool] = [:]
    for start in starts where isOnPath[start] == nil {
      path.append(Step(id: start, after: after(start)))
      isOnPath[start] = true
      while let step = path.last {
        guard step.next < step.after.count else {
          path.removeLast()
          isOnPath[step.id] = false
          continue
        }
        path[path.count - 1].next += 1
        let id = step.after[step.next]
        switch isOnPath[id] {
        case true?: return Array(path.map(\.id).drop { $0 != id })
        case false?: continue
        case nil:
          path.append(Step(id: id, after: after(id)))
          isOnPath[id] = true
        }
      }
    }
    return nil
  }
}

/// Looks for a circle among dependencies, depth first, with a stack of its own: a chain may be as
/// long as it likes.
enum DependencyCycle {
  /// One on the path from a start to where the search is.
  private struct Step {
    let id: TransferID
    let after: [TransferID]
    var next = 0
  }

  /// The first circle that is found, each id once, each followed by one that it depends on; nil if
  /// there is none.
  ///
  /// O(transfers and dependencies that the starts reach).
  static func search(
    from starts: [TransferID], after: (TransferID) -> [TransferID]
  ) -> [TransferID]? {
    var path: [Step] = []
    /// Those that were met: whether they are on the path still.
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

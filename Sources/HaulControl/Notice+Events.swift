package import HaulCore

/// Which notices an event makes, and their text.
extension Notice {
  /// The longest name and text that are shown, in cells of a terminal.
  static let (nameCells, textCells) = (100, 300)

  /// The notices of an event: of its end, and of the group that this end completes.
  /// - Parameters:
  ///   - name: of the transfer, if it is still in the list.
  ///   - time: the present time, in seconds since 1970.
  package static func notices(
    of event: TransferEvent, name: String?, time: Double
  ) -> [Notice] {
    guard let number = event.number, case .finished(let result) = event.kind else { return [] }
    let end = Notice(event, number, result, name: name, time: time)
    return [end] + (event.groupEnd.map { [Notice($0, after: end)] } ?? [])
  }

  private init(
    _ event: TransferEvent, _ number: Int, _ result: TransferResult, name: String?, time: Double
  ) {
    let known = name ?? result.path.flatMap(\.lastPathName) ?? event.identifier ?? "\(event.id)"
    self.init(
      id: "\(event.id)-\(number)", number: number, kind: .transfer, name: known, time: time,
      title: "\(Self.shown(known)): \(result.isUnchanged ? "unchanged" : result.state.rawValue)",
      text: Self.text(of: result))
    (state, transfer, group) = (result.state, event.id, event.group ?? event.groupEnd?.name)
    (path, bytes) = (result.path, result.bytes)
    error = result.error.map { .init($0) }
    warning = result.warning?.code
    isUnchanged = result.state == .completed ? result.isUnchanged : nil
  }

  /// The reason of a failure; otherwise where the file is, after what is to be said about it.
  private static func text(of result: TransferResult) -> String {
    let text =
      switch result.state {
      case .failed: result.error?.message ?? "the reason is unknown"
      case .completed, .cancelled:
        [(result.warning?.text).map { "warning: \($0)" }, result.keptText, result.path]
          .compactMap(\.self)
          .joined(separator: "; ")
      }
    return shown(text, textCells)
  }

  private init(_ group: GroupEnd, after end: Notice) {
    let counts = Counts(
      completed: group.completed, failed: group.failed, cancelled: group.cancelled)
    self.init(
      id: "\(end.id)-group", number: end.number, kind: .group, name: group.name, time: end.time,
      title: "group \(Self.shown(group.name)): \(counts.outcome)", text: counts.list)
    (state, transfer, self.group) = (counts.state, end.transfer, group.name)
    self.counts = counts
  }

  /// Several ends in one notice.
  /// - Parameter notices: at least one.
  package static func several(_ notices: [Notice]) -> Notice? {
    guard let first = notices.first, let last = notices.last else { return nil }
    let ends = notices.filter { $0.kind == .transfer }
    func count(_ state: TransferResult.State) -> Int { ends.count { $0.state == state } }
    let counts = Counts(
      completed: count(.completed), failed: count(.failed), cancelled: count(.cancelled))
    let groups = notices.filter { $0.kind == .group }.map(\.title)
    var several = Notice(
      id: "\(first.id)-to-\(last.number)", number: last.number, kind: .several,
      name: "\(notices.count) ends", time: last.time,
      title: ends.isEmpty
        ? "\(groups.count) groups ended" : "\(counts.all) transfers: \(counts.outcome)",
      text: shown(
        ((counts.isMixed ? [counts.list] : []) + groups).joined(separator: "; "), textCells))
    several.counts = counts
    several.state = notices.contains { $0.state == .failed } ? .failed : counts.state
    return several
  }

  /// The log no longer has the state changes between these numbers.
  package static func dropped(after known: Int, through number: Int, time: Double) -> Notice {
    let count = number - known
    return Notice(
      id: "dropped-\(known)-\(number)", number: number, kind: .dropped, name: "\(count)",
      time: time, title: "up to \(count) notices were dropped",
      text: "they could not be delivered while the log of the queue still had them")
  }

  /// Any number of combining marks has no width, so the characters are counted too.
  static func shown(_ text: String, _ cells: Int = nameCells) -> String {
    let scalars = text.unicodeScalars
    let some = String(scalars.prefix(4 * cells))
    let isCut = some.utf8.count < text.utf8.count
    return TerminalText.cut(TerminalText.escaped(some) + (isCut ? "…" : ""), to: cells)
  }
}

extension Notice.Counts {
  /// A group with a failure has failed.
  fileprivate var state: TransferResult.State {
    failed > 0 ? .failed : cancelled > 0 ? .cancelled : .completed
  }

  /// `all 12 completed`, `2 of 12 failed`, `1 of 12 cancelled`.
  fileprivate var outcome: String {
    switch state {
    case .completed: all == 1 ? "completed" : "all \(all) completed"
    case .failed: "\(failed) of \(all) failed"
    case .cancelled: "\(cancelled) of \(all) cancelled"
    }
  }

  fileprivate var isMixed: Bool { ![completed, failed, cancelled].contains(all) }

  fileprivate var list: String {
    [(completed, "completed"), (failed, "failed"), (cancelled, "cancelled")]
      .filter { $0.0 > 0 }.map { "\($0) \($1)" }.joined(separator: ", ")
  }
}

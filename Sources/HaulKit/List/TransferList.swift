public import HaulCore
public import Observation

/// The list of a manager for a user interface: observable, on the main actor, and at most a tenth
/// of a second old.
///
/// The main actor is used at most once every 100 ms, for all changes of all transfers, and not at
/// all while nothing changes. The list does not keep its manager alive and ends with it; releasing
/// the list ends it too.
@MainActor @Observable
public final class TransferList {
  /// One transfer, as a user interface shows it.
  public struct Row: Identifiable, Sendable, Hashable {
    /// The transfer, for every command of the manager.
    public let id: TransferID
    /// The name of the file or the step. Text from outside: escape it for a terminal.
    public internal(set) var name: String
    /// The address without its secrets; nil for a step.
    public internal(set) var address: String?
    /// The caller's name for it.
    public internal(set) var identifier: String?
    /// The group that it belongs to.
    public internal(set) var group: String?
    /// Its state.
    public internal(set) var state: TransferState
    /// What it is doing, while it runs.
    public internal(set) var phase: TransferEvent.Phase?
    /// Why it does not run, if that is known.
    public internal(set) var waitReason: WaitReason?
    /// From 0 to 1; nil while the length is unknown.
    public internal(set) var fraction: Double?
    /// Bytes on disk.
    public internal(set) var bytes: Int64 = 0
    /// The whole length in bytes; nil while it is unknown.
    public internal(set) var total: Int64?
    /// Bytes per second; 0 unless it runs.
    public internal(set) var rate: Double = 0
    /// From 0 to 100, rounded down, and 100 only when complete; nil while the length is unknown.
    public var percent: Int? { fraction.map { Int($0 * 100) } }
    /// Seconds until the end at the present rate; nil unless it runs and the length is known.
    public var secondsLeft: Double? {
      TransferProgress(bytes: bytes, total: total, rate: rate).secondsLeft
    }
    /// Where the file is, once completed.
    public internal(set) var path: String?
    /// Why it failed.
    public internal(set) var error: TransferError?

    /// A row for previews and tests.
    /// - Parameters: the values of the properties of the same names.
    public init(
      id: TransferID, name: String, address: String? = nil, identifier: String? = nil,
      group: String? = nil,
      state: TransferState = .queued, phase: TransferEvent.Phase? = nil,
      waitReason: WaitReason? = nil, fraction: Double? = nil, bytes: Int64 = 0,
      total: Int64? = nil, rate: Double = 0, path: String? = nil, error: TransferError? = nil
    ) {
      (self.id, self.name, self.address) = (id, name, address)
      (self.identifier, self.group) = (identifier, group)
      (self.state, self.phase, self.waitReason) = (state, phase, waitReason)
      (self.fraction, self.bytes, self.total, self.rate) = (fraction, bytes, total, rate)
      (self.path, self.error) = (path, error)
    }
  }

  /// In list order.
  public private(set) var rows: [Row] = []
  /// Whether there are no more changes because the manager has shut down.
  public private(set) var hasEnded = false
  /// How often the main actor was updated.
  @ObservationIgnored package private(set) var updates = 0
  @ObservationIgnored private var indices: [TransferID: Int] = [:]
  @ObservationIgnored private var feed: ListFeed?

  /// The list of a manager, empty until its first update.
  /// - Parameters:
  ///   - manager: whose list it is.
  ///   - group: shows only the members of this group; nil for the whole list.
  public init(_ manager: TransferManager, group: String? = nil) {
    feed = ListFeed(manager.coordinator, group: group) { [weak self] update in
      await self?.apply(update)
    }
  }

  /// The row of that transfer; nil when it is not in the list.
  public subscript(id: TransferID) -> Row? { indices[id].map { rows[$0] } }

  private func apply(_ update: ListUpdate) {
    updates += 1
    if update.isReset { (rows, indices) = ([], [:]) }
    if !update.removed.isEmpty {
      rows.removeAll { update.removed.contains($0.id) }
      indices = Dictionary(zip(rows.map(\.id), rows.indices), uniquingKeysWith: { $1 })
    }
    var next = rows
    for row in update.changed {
      if let index = indices[row.id] {
        next[index] = row
      } else {
        indices[row.id] = next.count
        next.append(row)
      }
    }
    rows = next
    if let order = update.order { sort(by: order) }
    if update.isLast { (hasEnded, feed) = (true, nil) }
  }

  /// Rows that are not in the order are last until their removal is reported.
  private func sort(by order: [TransferID]) {
    let ranks = Dictionary(zip(order, order.indices), uniquingKeysWith: { $1 })
    let sorted = rows.enumerated().sorted { left, right in
      let ranks = (ranks[left.element.id] ?? .max, ranks[right.element.id] ?? .max)
      return ranks.0 == ranks.1 ? left.offset < right.offset : ranks.0 < ranks.1
    }
    rows = sorted.map(\.element)
    indices = Dictionary(zip(rows.map(\.id), rows.indices), uniquingKeysWith: { $1 })
  }
}

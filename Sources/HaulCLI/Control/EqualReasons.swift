package import HaulControl
import HaulCore

/// Transfers that are in their state for the same reason: the first ones have a line each, the
/// others one line together at the end.
package struct EqualReasons {
  private struct Key: Hashable {
    let state: TransferState
    let kind: TransferRequest.Kind
    let texts: [String?]
    let blocked: Bool?
  }

  private var groups: [Key: (first: TransferID, count: Int)] = [:]
  private var order: [Key] = []

  /// As many lines show what the reason is about.
  private static let shown = 3

  package init() {}

  /// Notes a transfer; true if it gets a line of its own.
  package mutating func note(_ transfer: TransferDocument) -> Bool {
    let wait = transfer.waiting
    let key = Key(
      state: transfer.state, kind: transfer.kind,
      texts: [
        wait?.code, wait?.message, wait?.next, transfer.start, transfer.every,
        transfer.error?.code.rawValue, transfer.error?.message,
        transfer.lastRun?.error?.message, transfer.result?.result.warning?.code,
      ],
      blocked: wait?.isBlocked)
    if groups[key] == nil { order.append(key) }
    let group = groups[key] ?? (transfer.id, 0)
    groups[key] = (group.first, group.count + 1)
    return group.count < Self.shown
  }

  /// The lines at the end, about those that got none.
  package var lines: [String] {
    order.compactMap { key in
      guard let group = groups[key], group.count > Self.shown else { return nil }
      return
        "and \(Units.count(group.count - Self.shown)) more for the same reason as \(group.first)"
    }
  }
}

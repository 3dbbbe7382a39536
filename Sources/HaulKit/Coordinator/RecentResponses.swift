import DequeModule
import HaulCore

/// What servers answered last to the transfers that ended last. Stores do not have it, because it
/// may hold secrets and is large.
struct RecentResponses {
  private static let limit = 1000
  private var known: [TransferID: (response: TransferResponse, number: Int)] = [:]
  /// Oldest first; those that were noted again since have another number.
  private var order: Deque<(id: TransferID, number: Int)> = []
  private var last = 0

  /// - Parameter response: nil for a transfer that ended without one, or was removed.
  mutating func note(_ response: TransferResponse?, of id: TransferID) {
    guard let response else { return known[id] = nil }
    last += 1
    known[id] = (response, last)
    order.append((id, last))
    guard order.count > Self.limit, let oldest = order.popFirst() else { return }
    if known[oldest.id]?.number == oldest.number { known[oldest.id] = nil }
  }

  /// The result with its response, if it is still known.
  func completed(_ result: TransferResult, of id: TransferID) -> TransferResult {
    known[id].map { result.noting($0.response) } ?? result
  }
}

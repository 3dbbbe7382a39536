package import HaulControl
import HaulCore

/// An order of the rows of a list.
package enum ListOrder: String, CaseIterable, Sendable {
  case added, ended, size, rate, name, state

  /// Rows that are alike stay in their order; those without a value are last.
  package func sort(_ transfers: inout [TransferDocument]) {
    switch self {
    case .added: descend(&transfers, \.added)
    case .ended: descend(&transfers, \.ended)
    case .size: descend(&transfers) { Double($0.total ?? $0.bytes) }
    case .rate: descend(&transfers) { $0.state == .running ? $0.rate : nil }
    case .name: ascend(&transfers, \.name)
    case .state: ascend(&transfers, \.state.rawValue)
    }
  }

  private func descend(
    _ transfers: inout [TransferDocument], _ value: (TransferDocument) -> Double?
  ) {
    // The sort of the standard library is stable, but does not promise it.
    let keyed = transfers.enumerated().map { (-(value($1) ?? -.infinity), $0, $1) }
    transfers = keyed.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
  }

  private func ascend(
    _ transfers: inout [TransferDocument], _ value: (TransferDocument) -> String
  ) {
    let keyed = transfers.enumerated().map { (Array(value($1).utf8), $0, $1) }
    transfers = keyed.sorted { left, right in
      left.0 == right.0 ? left.1 < right.1 : left.0.lexicographicallyPrecedes(right.0)
    }.map(\.2)
  }
}

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
    case .name: ascend(&transfers) { Self.key(of: $0.name) }
    case .state: ascend(&transfers) { Array($0.state.rawValue.utf8) }
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
    _ transfers: inout [TransferDocument], _ value: (TransferDocument) -> [UInt8]
  ) {
    let keyed = transfers.enumerated().map { (value($1), $0, $1) }
    transfers = keyed.sorted { left, right in
      left.0 == right.0 ? left.1 < right.1 : left.0.lexicographicallyPrecedes(right.0)
    }.map(\.2)
  }

  /// As on the page: without regard to case, and numbers within names compare as numbers.
  private static func key(of name: String) -> [UInt8] {
    var (key, digits) = ([UInt8](), [UInt8]())
    func take() {
      guard !digits.isEmpty else { return }
      key += repeatElement(UInt8(ascii: "0"), count: max(0, longestNumber - digits.count)) + digits
      digits = []
    }
    for byte in name.lowercased().utf8 {
      if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
        digits.append(byte)
      } else {
        take()
        key.append(byte)
      }
    }
    take()
    return key
  }

  private static let longestNumber = 12
}

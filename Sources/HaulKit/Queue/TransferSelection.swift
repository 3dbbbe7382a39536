public import HaulCore

/// Which transfers a command is for.
public enum TransferSelection: Sendable {
  case all
  case ids([TransferID])
  /// The members of a group.
  case group(String)
  /// The transfers for which the closure returns true. It is called once for each transfer in the
  /// list.
  case filter(@Sendable (TransferSummary) -> Bool)

  /// One transfer.
  public static func transfer(_ transfer: Transfer) -> TransferSelection { .ids([transfer.id]) }
}

extension TransferSelection: ExpressibleByArrayLiteral {
  /// These transfers, in this order.
  public init(arrayLiteral ids: TransferID...) { self = .ids(ids) }
}

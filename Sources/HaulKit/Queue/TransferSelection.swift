public import HaulCore

/// What selects transfers for a command or a question: a `TransferSelection`, a handle or an id, an
/// array of these, or a group.
public protocol TransferSelectable: Sendable {
  /// The transfers that it selects.
  var selection: TransferSelection { get }
}

/// Which transfers of a list a command is for.
public struct TransferSelection: Sendable {
  package enum Kind: Sendable {
    case all
    case ids([TransferID])
    case group(String)
    case filter(@Sendable (TransferSummary) -> Bool)
    /// Those of each, each of them once.
    case several([TransferSelection])
  }

  package let kind: Kind

  init(kind: Kind) { self.kind = kind }
}

extension TransferSelection: ExpressibleByArrayLiteral {
  /// What the elements select, in their order, each transfer once.
  public init(arrayLiteral elements: any TransferSelectable...) {
    self.init(elements.map(\.selection))
  }

  init(_ selections: [TransferSelection]) {
    var ids: [TransferID] = []
    for selection in selections {
      guard case .ids(let some) = selection.kind else {
        kind = .several(selections)
        return
      }
      ids += some
    }
    kind = .ids(ids)
  }
}

extension TransferSelection {
  /// Every transfer in the list.
  public static var all: TransferSelection { TransferSelection(kind: .all) }

  /// These transfers, in this order.
  public static func ids(_ ids: [TransferID]) -> TransferSelection {
    TransferSelection(kind: .ids(ids))
  }

  /// The members of a group.
  public static func group(_ name: String) -> TransferSelection {
    TransferSelection(kind: .group(name))
  }

  /// The transfers for which the closure returns true. It is called once for each transfer in the
  /// list.
  public static func filter(
    _ takes: @escaping @Sendable (TransferSummary) -> Bool
  ) -> TransferSelection { TransferSelection(kind: .filter(takes)) }
}

extension TransferSelection: TransferSelectable {
  /// Itself.
  public var selection: TransferSelection { self }
}

extension TransferID: TransferSelectable {
  /// The transfer with this id.
  public var selection: TransferSelection { .ids([self]) }
}

extension Transfer: TransferSelectable {
  /// This transfer.
  public var selection: TransferSelection { .ids([id]) }
}

extension Array: TransferSelectable where Element: TransferSelectable {
  /// What the elements select, in their order, each transfer once.
  public var selection: TransferSelection { TransferSelection(map(\.selection)) }
}

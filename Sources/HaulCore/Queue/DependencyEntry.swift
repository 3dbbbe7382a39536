/// What the graph of dependencies knows of one transfer: those before it, how they stand, and those
/// behind it.
struct DependencyEntry: Sendable {
  /// How a dependency stands, as far as those behind it care.
  enum Fulfilment: Sendable, Hashable {
    case open, met, unmet

    init(_ end: DependencyGraph.End?) {
      switch end {
      case nil: self = .open
      case .completed: self = .met
      case .failed, .cancelled, .removed: self = .unmet
      }
    }
  }

  /// The way back from a dependency to one behind it.
  struct Edge: Sendable {
    let dependent: TransferID
    /// The place of the dependency in the dependent's `after`.
    let index: Int
    /// Tells the dependent's present dependencies from older ones.
    let ticket: UInt64
  }

  /// How it ended; nil as long as it has not.
  var end: DependencyGraph.End?
  /// Whether it is in the list still.
  var isListed: Bool
  /// In the order in which they came behind it; some may be overtaken.
  var edges = ChunkedArray<Edge>()
  /// Those of the edges that are not overtaken.
  var dependents = 0
  /// What it waits for, each once.
  private(set) var after: [TransferID] = []
  private(set) var policy = TransferRequest.DependencyPolicy.block
  /// Of the present `after`; 0 without any.
  private(set) var ticket: UInt64 = 0
  private var open = IndexBitSet()
  private var unmet = IndexBitSet()

  init(end: DependencyGraph.End?) {
    self.end = end
    isListed = end != .removed
  }

  mutating func wait(
    for dependencies: [TransferID], ends: [DependencyGraph.End?],
    policy newPolicy: TransferRequest.DependencyPolicy, ticket newTicket: UInt64
  ) {
    waitForNone()
    (after, policy, ticket) = (dependencies, newPolicy, newTicket)
    for (index, end) in ends.enumerated() { note(Fulfilment(end), at: index) }
  }

  mutating func waitForNone() {
    (after, ticket) = ([], 0)
    (open, unmet) = (IndexBitSet(), IndexBitSet())
  }

  /// Notes how the dependency at this place of `after` stands now.
  mutating func note(_ fulfilment: Fulfilment, at index: Int) {
    if fulfilment == .open { open.insert(index) } else { open.remove(index) }
    if fulfilment == .unmet { unmet.insert(index) } else { unmet.remove(index) }
  }

  /// One that did not complete is told before one that has not ended: it is the one that somebody
  /// must do something about.
  var verdict: DependencyGraph.Verdict {
    if let first = unmet.first {
      switch policy {
      case .block: return .blocked(by: after[first])
      case .skip: return .skipped(by: after[first])
      case .run: break
      }
    }
    return open.first.map { .waiting(on: after[$0]) } ?? .ready
  }
}

/// One transfer in the dependency graph: its dependencies and their states, and its dependents.
struct DependencyEntry: Sendable {
  /// The state of a dependency, as far as its dependents need it.
  enum DependencyStatus: Sendable, Hashable {
    case open, met, unmet

    init(_ end: DependencyGraph.End?) {
      switch end {
      case nil: self = .open
      case .completed: self = .met
      case .failed, .cancelled, .removed: self = .unmet
      }
    }
  }

  /// A link from a dependency to a dependent.
  struct Edge: Sendable {
    let dependent: TransferID
    /// The index of the dependency in the dependent's `after`.
    let index: Int
    /// Distinguishes the dependent's present dependencies from former ones.
    let ticket: UInt64
  }

  /// How it ended; nil until it has.
  var end: DependencyGraph.End?
  /// Whether it is still in the list.
  var isListed: Bool
  /// In order of arrival; some may be outdated.
  var edges = ChunkedArray<Edge>()
  /// The number of edges that are not outdated.
  var dependents = 0
  /// Its dependencies, each once.
  private(set) var after: [TransferID] = []
  private(set) var policy = TransferRequest.DependencyPolicy.block
  /// The ticket of the present `after`; 0 without any.
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
    for (index, end) in ends.enumerated() { note(DependencyStatus(end), at: index) }
  }

  mutating func waitForNone() {
    (after, ticket) = ([], 0)
    (open, unmet) = (IndexBitSet(), IndexBitSet())
  }

  /// Notes the state of the dependency at this index of `after`.
  mutating func note(_ fulfilment: DependencyStatus, at index: Int) {
    if fulfilment == .open { open.insert(index) } else { open.remove(index) }
    if fulfilment == .unmet { unmet.insert(index) } else { unmet.remove(index) }
  }

  /// A dependency that did not complete is reported before one that has not ended, because a person
  /// must act on it.
  var readiness: DependencyGraph.Readiness {
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

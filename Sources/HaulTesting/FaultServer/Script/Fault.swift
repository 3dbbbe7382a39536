/// A misbehaviour of one resource of a `FaultServer`.
///
/// Every fault that matches a request acts, in the order of the list, on the answer as the ones
/// before left it.
public struct Fault: Codable, Hashable, Sendable {
  package var match: Match
  package var actions: [Action]

  package init(_ actions: Action..., when match: Match = Match()) {
    self.match = match
    self.actions = actions
  }

  private enum CodingKeys: String, CodingKey {
    case match = "when"
    case actions = "do"
  }

  /// A fault from the JSON that `haul-faultserver` reads.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    match = try values.decodeIfPresent(Match.self, forKey: .match) ?? Match()
    actions = try values.decode([Action].self, forKey: .actions)
  }

  /// Which requests a fault is for: all conditions given must hold; none given is every request.
  package struct Match: Codable, Hashable, Sendable {
    package enum Condition: String, Codable, Hashable, Sendable {
      case range, ifRange, neither
    }

    package var method: String?
    package var has: Condition?
    /// Number of the request among those of its resource, from 1, all methods together.
    package var firstRequest: Int?
    package var lastRequest: Int?
    /// Requests that match otherwise and are let go before the fault acts.
    package var skip: Int?
    /// How often the fault acts; nil for always.
    package var times: Int?
    /// The first byte asked for (0 without a range) is at least this.
    package var offsetAtLeast: Int64?
    /// The first byte asked for is less than this.
    package var offsetBelow: Int64?
    /// At least so many other responses of the resource are in progress; 1 means "an additional
    /// connection", k makes a cap of k.
    package var othersInProgress: Int?
    package var withHeader: String?
    package var withoutHeader: String?

    package init(
      method: String? = nil, has: Condition? = nil, firstRequest: Int? = nil,
      lastRequest: Int? = nil, skip: Int? = nil, times: Int? = nil, offsetAtLeast: Int64? = nil,
      offsetBelow: Int64? = nil, othersInProgress: Int? = nil, withHeader: String? = nil,
      withoutHeader: String? = nil
    ) {
      self.method = method
      self.has = has
      self.firstRequest = firstRequest
      self.lastRequest = lastRequest
      self.skip = skip
      self.times = times
      self.offsetAtLeast = offsetAtLeast
      self.offsetBelow = offsetBelow
      self.othersInProgress = othersInProgress
      self.withHeader = withHeader
      self.withoutHeader = withoutHeader
    }

    /// Only the n-th request of the resource, from 1.
    package static func request(_ number: Int) -> Match {
      Match(firstRequest: number, lastRequest: number)
    }

    /// Only the first `count` requests that carry a range, or of any kind.
    package static func first(_ count: Int, has condition: Condition? = nil) -> Match {
      Match(has: condition, times: count)
    }

    /// Only while at least one other response of the resource is in progress.
    package static let additionalConnection = Match(othersInProgress: 1)
  }
}

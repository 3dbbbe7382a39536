/// A misbehaviour of one resource of a `FaultServer`.
///
/// Every matching fault acts on the answer, in the order of the list, after those before it.
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

  /// Which requests a fault is for. All given conditions must be met; without conditions, every
  /// request matches.
  package struct Match: Codable, Hashable, Sendable {
    package enum Condition: String, Codable, Hashable, Sendable {
      case range, ifRange, neither
    }

    package var method: String?
    package var has: Condition?
    /// The number of the request among those of its resource, from 1, with any method.
    package var firstRequest: Int?
    package var lastRequest: Int?
    /// The number of matching requests that are served before the fault acts.
    package var skip: Int?
    /// How often the fault acts; nil for no limit.
    package var times: Int?
    /// The first requested byte (0 without a range) is at least this.
    package var offsetAtLeast: Int64?
    /// The first requested byte is less than this.
    package var offsetBelow: Int64?
    /// At least so many other responses of the resource are in progress. 1 means "an additional
    /// connection"; k limits connections to k.
    package var othersInProgress: Int?
    package var withHeader: String?
    package var withoutHeader: String?
    /// A part of a `Name: value` line that the request has, or has not.
    package var withText: String?
    package var withoutText: String?

    package init(
      method: String? = nil, has: Condition? = nil, firstRequest: Int? = nil,
      lastRequest: Int? = nil, skip: Int? = nil, times: Int? = nil, offsetAtLeast: Int64? = nil,
      offsetBelow: Int64? = nil, othersInProgress: Int? = nil, withHeader: String? = nil,
      withoutHeader: String? = nil, withText: String? = nil, withoutText: String? = nil
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
      (self.withText, self.withoutText) = (withText, withoutText)
    }

    /// Only request number `number` of the resource, from 1.
    package static func request(_ number: Int) -> Match {
      Match(firstRequest: number, lastRequest: number)
    }

    /// Only the first `count` requests, or the first ones that meet the condition.
    package static func first(_ count: Int, has condition: Condition? = nil) -> Match {
      Match(has: condition, times: count)
    }
  }
}

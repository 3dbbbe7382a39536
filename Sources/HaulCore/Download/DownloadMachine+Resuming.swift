/// Bytes that an earlier run left: a part belongs to its address, and an entity tag tells versions
/// of one resource apart.
extension DownloadMachine {
  /// What an earlier run left, and what is known of where it came from.
  package struct Recovered: Sendable, Hashable {
    package var version: Version
    /// Whether the address is the one that the bytes came from, but for values of known signing
    /// keys.
    package var isSameAddress: Bool
    /// Whether the tokens are equal too; otherwise places are compared before the bytes count.
    package var hasSameTokens: Bool
    /// Whether they may be of several versions: only a digest of the whole proves them then.
    package var isUnproved: Bool
    /// Where they can be compared with the server's; empty where that would tell nothing.
    package var places: [ByteRange]
    /// Where redirects led then, as far as that is known.
    package var location: ResourceURL?
    /// The bytes on disk.
    package var received: ByteRangeSet

    package init(
      version: Version, isSameAddress: Bool = true, hasSameTokens: Bool = true,
      isUnproved: Bool = false,
      places: [ByteRange] = [], location: ResourceURL? = nil,
      received: ByteRangeSet = ByteRangeSet()
    ) {
      self.version = version
      self.isSameAddress = isSameAddress
      self.hasSameTokens = hasSameTokens
      self.isUnproved = isUnproved
      self.places = places
      self.location = location
      self.received = received
    }
  }

  mutating func start(_ recovered: Recovered?, plan: inout SegmentPlan) -> [Command] {
    held = 1
    var commands: [Command] = []
    if let recovered, plan.receivedCount > 0 {
      if mayCount(recovered, plan) {
        takeUp(recovered)
        if plan.isComplete { return finishing() }
      } else {
        plan.startOver(length: nil)
        commands = [.phase(.restarted, reason: Self.reason(against: recovered))]
      }
    } else {
      plan.startOver(length: nil)
    }
    commands.append(.phase(.connecting, reason: nil))
    return commands + openMore(&plan)
  }

  /// Whether the bytes may count, if the first answer agrees. Of a whole the server is not asked.
  func mayCount(_ recovered: Recovered, _ plan: SegmentPlan) -> Bool {
    if !rules.checksums.isEmpty { return true }
    let isVersion = recovered.version.validator.isStrong && !recovered.isUnproved
    let isAnnounced = recovered.version.announced != nil
    guard recovered.isSameAddress else {
      return !plan.isComplete && (isAnnounced || (isVersion && rules.isSameResource))
    }
    guard !isDoubtful(recovered) else {
      return !plan.isComplete && !recovered.places.isEmpty && (isVersion || isAnnounced)
    }
    return isVersion || isAnnounced || isCompared(recovered, plan)
  }

  /// Whether another token may have selected another resource.
  private func isDoubtful(_ recovered: Recovered) -> Bool {
    !recovered.hasSameTokens && !rules.isSameResource
  }

  private func isCompared(_ recovered: Recovered, _ plan: SegmentPlan) -> Bool {
    rules.allowUnverified && (!recovered.places.isEmpty || plan.isComplete)
  }

  mutating func takeUp(_ recovered: Recovered) {
    version = recovered.version
    hasBegun = true
    isUnproved = recovered.isUnproved
    pending = recovered.isSameAddress ? .sameAddress : .otherAddress
    let isVersion = recovered.version.validator.isStrong && !recovered.isUnproved
    if recovered.isSameAddress, rules.checksums.isEmpty,
      isDoubtful(recovered) || (!isVersion && rules.allowUnverified)
    {
      toCompare = recovered.places
    }
    cap = mayResume ? rules.connections : 1
    if let location = recovered.location, recovered.isSameAddress,
      location.origin.scheme == "https" || rules.url.origin.scheme == "http"
    {
      former = location
    }
  }

  static func reason(against recovered: Recovered) -> String {
    recovered.isSameAddress
      ? "nothing proves that the bytes on disk belong to the server's version"
      : "the bytes on disk are from another address"
  }

  /// Whether bytes of an earlier run wait for an answer to agree.
  package var hasPending: Bool { pending != nil }
  /// Whether the part file holds bytes of this run.
  package var hasReplaced: Bool { hasBegun && pending == nil }

  /// Bytes of an earlier run that count only if the first answer agrees.
  enum Pending: Sendable, Hashable { case sameAddress, otherAddress }

  /// Whether an answer is of another resource than the bytes on disk, as far as addresses tell.
  func isElsewhere(_ head: ResponseHead, _ leadsElsewhere: Bool) -> Bool {
    switch pending {
    case .otherAddress: return true
    case .sameAddress: return leadsElsewhere
    case nil:
      guard let location = version?.location, location != head.url else { return false }
      return location.resourceText != head.url.resourceText
    }
  }

  /// Why bytes of another resource may be joined with those on disk; nil when they may not. Lengths
  /// are equal then.
  enum Join: Sendable, Hashable {
    /// The user's word, and the same strong validator. Otherwise a validator tells nothing of
    /// another resource.
    case sameVersion
    /// A digest proves the whole at the end.
    case digest
  }

  mutating func join(_ body: ResponseBody, _ digest: Checksum?) -> Join? {
    guard let version, let length = version.length, body.total == length else { return nil }
    if rules.isSameResource, !isUnproved,
      version.validator.comparison(with: body.validator) == .same
    {
      return .sameVersion
    }
    guard hasDigest, !rules.checksums.isEmpty || digest == version.announced else { return nil }
    self.version?.validator = body.validator
    return .digest
  }

  /// Whether a digest of the whole is checked at the end, and nobody has bytes before.
  private var hasDigest: Bool { !checksums.isEmpty && !rules.isStream }

  /// The same address leads elsewhere now, to what looks like the same version: mirrors take turns.
  /// The one that the bytes came from is asked for the rest, once.
  mutating func askFormer(
    _ id: SegmentID, _ body: ResponseBody, _ plan: SegmentPlan
  ) -> [Command]? {
    guard pending == .sameAddress, let former, let version, sameness(of: body, to: version) == .same
    else { return nil }
    self.former = nil
    isAskingFormer = true
    resolved = former
    return [.drop(id), open(id, plan)]
  }

  /// The former one is gone: the address is asked again.
  mutating func leaveFormer(_ id: SegmentID, _ plan: SegmentPlan) -> [Command]? {
    guard isAskingFormer else { return nil }
    isAskingFormer = false
    resolved = nil
    return [open(id, plan)]
  }

  /// Another resource answers: what is on disk stays until the first byte of it.
  mutating func startAnew(_ id: SegmentID, plan: inout SegmentPlan) -> [Command] {
    let reason =
      pending == .otherAddress
      ? "the bytes on disk are from another address" : "the address now leads to another one"
    // To forget what an earlier run left is no change during this one.
    let isChange = pending == nil
    let commands = abandon(id, reason, plan: &plan)
    if isChange { restarts += 1 }
    return commands
  }

  /// Notes that from here on nothing but a digest proves that all bytes are of one version.
  mutating func noteUnproved() -> [Command] {
    guard !isUnproved else { return [] }
    isUnproved = true
    return [.noteUnproved]
  }
}

/// Bytes of an earlier run: a part file belongs to its address, and an entity tag identifies a
/// version of one resource.
extension DownloadMachine {
  /// What an earlier run left, and what is known of its source.
  package struct Recovered: Sendable, Hashable {
    package var version: Version
    /// Whether the address is the one that the bytes came from, apart from known signing
    /// parameters.
    package var isSameAddress: Bool
    /// Whether the tokens are equal too; if not, bytes are compared before they count.
    package var hasSameTokens: Bool
    /// Whether they may be of several versions: only a digest of the whole file proves them then.
    package var isUnproved: Bool
    /// Ranges to compare with the server's bytes; empty where that would prove nothing.
    package var places: [ByteRange]
    /// Where redirects led at that time, if known.
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

  /// Whether the bytes may count if the first answer agrees. For a whole file the server is not
  /// asked.
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

  /// Whether bytes of an earlier run still need an answer that agrees.
  package var hasPending: Bool { pending != nil }
  /// Whether the part file holds bytes of this run.
  package var hasReplaced: Bool { hasBegun && pending == nil }

  /// Bytes of an earlier run that count only if the first answer agrees.
  enum Pending: Sendable, Hashable { case sameAddress, otherAddress }

  /// Whether an answer is of another resource than the bytes on disk, judging by addresses.
  func isElsewhere(_ head: ResponseHead, _ leadsElsewhere: Bool) -> Bool {
    switch pending {
    case .otherAddress: return true
    case .sameAddress: return leadsElsewhere
    case nil:
      guard let location = version?.location, location != head.url else { return false }
      return location.resourceText != head.url.resourceText
    }
  }

  /// Why bytes of another resource may be joined with those on disk; nil when they may not. Their
  /// lengths are equal.
  enum Join: Sendable, Hashable {
    /// The user's option, and the same strong validator. Without the option, a validator says
    /// nothing about another resource.
    case sameVersion
    /// A digest proves the whole file at the end.
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

  /// Whether a digest of the whole file is checked at the end, before anyone has its bytes.
  private var hasDigest: Bool { !checksums.isEmpty && !rules.isStream }

  /// The address now redirects elsewhere, to what looks like the same version, as mirrors do. The
  /// address that the bytes came from is asked for the rest, once.
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

  /// The former address fails: ask the original one again.
  mutating func leaveFormer(_ id: SegmentID, _ plan: SegmentPlan) -> [Command]? {
    guard isAskingFormer else { return nil }
    isAskingFormer = false
    resolved = nil
    return [open(id, plan)]
  }

  /// Another resource answers: the bytes on disk stay until the first byte of it.
  mutating func startAnew(_ id: SegmentID, plan: inout SegmentPlan) -> [Command] {
    let reason =
      pending == .otherAddress
      ? "the bytes on disk are from another address" : "the address now leads to another one"
    // Discarding what an earlier run left is not a change during this one.
    let isChange = pending == nil
    let commands = abandon(id, reason, plan: &plan)
    if isChange { restarts += 1 }
    return commands
  }

  /// Notes that from here on only a digest proves that all bytes are of one version.
  mutating func noteUnproved() -> [Command] {
    guard !isUnproved else { return [] }
    isUnproved = true
    return [.noteUnproved]
  }
}

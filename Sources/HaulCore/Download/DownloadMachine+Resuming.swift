/// Decides whether bytes of an earlier run are used. A part file belongs to its address; an entity
/// tag identifies a version of one resource.
extension DownloadMachine {
  mutating func start(_ found: Found, plan: inout SegmentPlan) -> [Command] {
    grantedConnections = 1
    note(found)
    var commands: [Command] = []
    if let recovered = found.recovered, plan.receivedCount > 0 {
      if isResumable(recovered, plan) {
        adoptRecovered(recovered)
        if plan.isComplete { return finishing() }
      } else if refusesToStartOver(recovered) {
        return finish(.failed(Self.isNotSame))
      } else {
        if recovered.isSameAddress { forgotten = plan.receivedCount }
        plan.startOver(length: nil)
        commands = [.phase(.restarted, reason: Self.reason(against: recovered))]
      }
    } else {
      plan.startOver(length: nil)
    }
    commands.append(.phase(.connecting, reason: nil))
    return commands + openMore(&plan)
  }

  mutating func note(_ found: Found) {
    existing = (found.existing, found.needsExisting)
    needsConfirmation = found.needsConfirmation
  }

  /// Whether the bytes can be used, provided that the first answer matches them. If the file is
  /// complete, no answer is awaited.
  func isResumable(_ recovered: Recovered, _ plan: SegmentPlan) -> Bool {
    if !rules.checksums.isEmpty { return true }
    let isVersion = recovered.version.validator.isStrong && !recovered.mayMixVersions
    let isAnnounced = recovered.version.announced != nil
    guard recovered.isSameAddress else {
      return !plan.isComplete && (isAnnounced || (isVersion && rules.resumesFromOtherURL))
    }
    guard !isDoubtful(recovered) else {
      return !plan.isComplete && !recovered.comparisonRanges.isEmpty && (isVersion || isAnnounced)
    }
    return isVersion || isAnnounced || isCompared(recovered, plan)
  }

  /// Whether the new token may select another resource.
  private func isDoubtful(_ recovered: Recovered) -> Bool {
    !recovered.hasSameTokens && !rules.resumesFromOtherURL
  }

  private func isCompared(_ recovered: Recovered, _ plan: SegmentPlan) -> Bool {
    rules.allowUnverified && (!recovered.comparisonRanges.isEmpty || plan.isComplete)
  }

  mutating func adoptRecovered(_ recovered: Recovered) {
    content = Content(
      version: recovered.version, hasBegun: true, mayMixVersions: recovered.mayMixVersions)
    let isVersion = recovered.version.validator.isStrong && !recovered.mayMixVersions
    let isCompared =
      rules.checksums.isEmpty
      && (isDoubtful(recovered) || (!isVersion && rules.allowUnverified))
    pending =
      recovered.isSameAddress
      ? .sameAddress(toCompare: isCompared ? recovered.comparisonRanges : []) : .otherAddress
    maximumConnections = mayResume ? rules.connections : 1
    if let location = recovered.location, recovered.isSameAddress,
      location.origin.scheme == "https" || rules.url.origin.scheme == "http"
    {
      redirects.notePrevious(location)
    }
  }

  /// Whether the user says that another address has the file of the bytes on disk, and nothing can
  /// prove it: they are not discarded without a word.
  func refusesToStartOver(_ recovered: Recovered) -> Bool {
    rules.resumesFromOtherURL && !recovered.isSameAddress
  }

  static let isNotSame = TransferError(
    .changedOnServer,
    "nothing proves that this address has the file whose bytes are on disk: length, and a strong "
      + "entity tag or date",
    advice: "the bytes are kept"
  ).remedied(by: .startingOver)

  static func reason(against recovered: Recovered) -> String {
    recovered.isSameAddress
      ? "nothing proves that the bytes on disk belong to the server's version"
      : "the bytes on disk are from another address"
  }

  /// Whether bytes of an earlier run have not been confirmed by an answer yet.
  package var hasPending: Bool { pending != nil }
  /// Whether the part file holds bytes of this run.
  package var hasBytesOfThisRun: Bool { hasBegun && pending == nil }

  /// The source of bytes of an earlier run that an answer has not confirmed yet.
  enum Pending: Sendable, Hashable {
    /// With ranges to compare with the server's bytes before those on disk count.
    case sameAddress(toCompare: [ByteRange])
    case otherAddress
  }

  var toCompare: [ByteRange] {
    if case .sameAddress(let ranges) = pending { ranges } else { [] }
  }

  /// Whether an answer is of another resource than the bytes on disk, judging by addresses.
  func isOtherResource(_ head: ResponseHead, _ isFromOtherAddress: Bool) -> Bool {
    switch pending {
    case .otherAddress: return true
    case .sameAddress: return isFromOtherAddress
    case nil:
      guard let location = version?.location, location != head.url else { return false }
      return location.resourceText != head.url.resourceText
    }
  }

  /// What allows joining bytes of another resource of the same length with those on disk.
  enum Join: Sendable, Hashable {
    /// The user's option, and the same strong validator. Without the option, a validator says
    /// nothing about another resource.
    case sameVersion
    /// A digest proves the whole file at the end.
    case digest
  }

  mutating func join(_ body: ResponseBody, _ digest: Checksum?) -> Join? {
    guard let version, let length = version.length, body.total == length else { return nil }
    // A date beside a weak tag proves nothing about another resource.
    if rules.resumesFromOtherURL, !mayMixVersions, !version.validator.hasWeakTag,
      !body.validator.hasWeakTag,
      version.validator.comparison(with: body.validator) == .same
    {
      return .sameVersion
    }
    guard hasDigest, !rules.checksums.isEmpty || digest == version.announced else { return nil }
    content?.version.validator = body.validator
    return .digest
  }

  /// Whether the digest of the whole file is checked. A stream has none: its reader gets the bytes
  /// before they could be checked.
  private var hasDigest: Bool { !checksums.isEmpty && !rules.isStream }

  /// The address now redirects to another one that seems to have the same version, as with mirrors.
  /// Requests the rest, once, from the address that the bytes came from.
  mutating func requestPreviousAddress(
    _ id: SegmentID, _ body: ResponseBody, _ plan: SegmentPlan
  ) -> [Command]? {
    guard case .sameAddress = pending, let version, comparison(of: body, to: version) == .same,
      redirects.goBack(from: rules.url.origin)
    else { return nil }
    return [.drop(id), open(id, plan)]
  }

  /// The previous address failed: asks the original one again.
  mutating func returnToOriginalAddress(_ id: SegmentID, _ plan: SegmentPlan) -> [Command]? {
    redirects.leavePrevious() ? [open(id, plan)] : nil
  }

  /// Another resource answers: the bytes on disk stay until its first byte arrives.
  mutating func startOverWithNewResource(_ id: SegmentID, plan: inout SegmentPlan) -> [Command] {
    if pending == .otherAddress, rules.resumesFromOtherURL {
      _ = close(id)
      plan.release(id)
      return [.drop(id)] + stopAll(for: .fail(Self.isNotSame), plan: &plan)
    }
    let reason =
      pending == .otherAddress
      ? "the bytes on disk are from another address" : "the address now leads to another one"
    // If only bytes of an earlier run are discarded, the file has not changed during this run.
    let isChange = pending == nil
    let commands = abandon(id, reason, plan: &plan)
    if isChange { changes.restarts += 1 }
    return commands
  }

  /// Notes that from here on only a digest proves that all bytes are of one version.
  mutating func noteMixedVersions() -> [Command] {
    guard !mayMixVersions else { return [] }
    content?.mayMixVersions = true
    return [.noteMixedVersions]
  }
}

/// Bytes on disk that are compared with the server's.
extension DownloadMachine {
  mutating func answeredComparison(
    _ id: SegmentID, _ range: ByteRange, _ verdict: ResponseVerdict, plan: inout SegmentPlan
  ) -> [Command] {
    if case .range(let body) = verdict, let version, body.end == range.upperBound,
      comparison(of: body, to: version) != .different
    {
      fetches[id]?.body = body
      return [.compare(id, range)]
    }
    return [.drop(id)] + rejectBytesOnDisk(id, plan: &plan)
  }

  mutating func compared(_ id: SegmentID, isSame: Bool, plan: inout SegmentPlan) -> [Command] {
    guard goal == .transfer else {
      _ = close(id)
      plan.release(id)
      return continueWhenStopped(&plan)
    }
    guard isSame else { return rejectBytesOnDisk(id, plan: &plan) }
    if case .sameAddress(let ranges) = pending {
      pending = .sameAddress(toCompare: Array(ranges.dropFirst()))
    }
    let isProved = version?.validator.isStrong == true && !mayMixVersions
    return (toCompare.isEmpty && !isProved ? noteMixedVersions() : []) + [open(id, plan)]
  }

  private mutating func rejectBytesOnDisk(_ id: SegmentID, plan: inout SegmentPlan) -> [Command] {
    _ = close(id)
    plan.release(id)
    return stopAll(for: .startOver("the bytes on disk differ from the server's"), plan: &plan)
  }
}

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
    (fileName, existing) = (found.fileName, (found.existing, found.needsExisting))
    needsConfirmation = found.needsConfirmation
  }

  /// Whether the bytes can be used, provided that the first answer matches them. If the file is
  /// complete, no answer is awaited.
  func isResumable(_ recovered: Recovered, _ plan: SegmentPlan) -> Bool {
    if !rules.request.checksums.isEmpty { return true }
    let isVersion = recovered.version.validator.isStrong && !recovered.mayMixVersions
    let isAnnounced = recovered.version.announced != nil
    guard recovered.isSameAddress else {
      return !plan.isComplete && (isAnnounced || (isVersion && rules.request.resumesFromOtherURL))
    }
    guard !isDoubtful(recovered) else {
      return !plan.isComplete && !recovered.comparisonRanges.isEmpty && (isVersion || isAnnounced)
    }
    return isVersion || isAnnounced || isCompared(recovered, plan)
  }

  /// Whether the new token may select another resource.
  private func isDoubtful(_ recovered: Recovered) -> Bool {
    !recovered.hasSameTokens && !rules.request.resumesFromOtherURL
  }

  private func isCompared(_ recovered: Recovered, _ plan: SegmentPlan) -> Bool {
    rules.request.allowUnverified && (!recovered.comparisonRanges.isEmpty || plan.isComplete)
  }

  mutating func adoptRecovered(_ recovered: Recovered) {
    var version = recovered.version
    version.page = misplacedPage(nil)
    content = Content(
      version: version, hasBegun: true, mayMixVersions: recovered.mayMixVersions)
    let isVersion = recovered.version.validator.isStrong && !recovered.mayMixVersions
    let mustCompare =
      rules.request.checksums.isEmpty
      && (isDoubtful(recovered) || (!isVersion && rules.request.allowUnverified))
    let toCompare = mustCompare || isOfMetadata(recovered) ? recovered.comparisonRanges : []
    pending = recovered.isSameAddress ? .sameAddress(toCompare: toCompare) : .otherAddress
    maximumConnections = mayResume ? rules.connections : 1
    if let location = recovered.location, recovered.isSameAddress,
      location.origin.scheme == "https" || rules.request.askedURL.origin.scheme == "http"
    {
      redirects.notePrevious(location)
    }
  }

  /// Whether a file that was replaced by another of the same date and length has the validator of
  /// the bytes on disk.
  private func isOfMetadata(_ recovered: Recovered) -> Bool {
    rules.request.checksums.isEmpty && recovered.version.announced == nil
      && recovered.version.validator.isOfMetadata(length: recovered.version.length)
  }

  /// Whether the user says that another address has the file of the bytes on disk, and nothing can
  /// prove it: they are not discarded without a word.
  func refusesToStartOver(_ recovered: Recovered) -> Bool {
    rules.request.resumesFromOtherURL && !recovered.isSameAddress
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
    guard let version, let length = version.length, body.total == length,
      version.hasCoding(of: body)
    else { return nil }
    // A date beside a weak tag proves nothing about another resource.
    if rules.request.resumesFromOtherURL, !mayMixVersions, !version.validator.hasWeakTag,
      !body.validator.hasWeakTag,
      version.validator.comparison(with: body.validator) == .same
    {
      return .sameVersion
    }
    guard hasDigest, !rules.request.checksums.isEmpty || digest == version.announced else {
      return nil
    }
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
      redirects.goBack(from: rules.request.askedURL.origin)
    else { return nil }
    return [.drop(id), open(id, plan)]
  }

  /// The previous address failed: asks the original one again.
  mutating func returnToOriginalAddress(_ id: SegmentID, _ plan: SegmentPlan) -> [Command]? {
    redirects.leavePrevious() ? [open(id, plan)] : nil
  }

  /// Another resource answers: the bytes on disk stay until its first byte arrives.
  mutating func startOverWithNewResource(_ id: SegmentID, plan: inout SegmentPlan) -> [Command] {
    if pending == .otherAddress, rules.request.resumesFromOtherURL {
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
    _ id: SegmentID, _ range: ByteRange, _ body: ResponseBody, plan: inout SegmentPlan
  ) -> [Command] {
    guard let version, body.end == range.upperBound else {
      return [.drop(id)] + rejectBytesOnDisk(id, plan: &plan)
    }
    guard comparison(of: body, to: version) != .different else {
      return changed(id, "the file changed on the server", seen: body, plan: &plan)
    }
    if goal == .confirm {
      goal = .transfer
      changes.refute()
    }
    fetches[id]?.body = body
    return [.compare(id, range)]
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

  /// A firewall may refuse the range of a comparison. Many refuse only a range from the first byte:
  /// that byte is left out. The last thing to try is the file without a range.
  /// - Returns: whether the next request differs.
  mutating func comparesDifferently(
    _ fetch: Fetch, _ error: TransferError, isLast: Bool
  ) -> Bool {
    guard fetch.body == nil, case .sameAddress(var rest) = pending, let first = rest.first,
      mayConcernRange(fetch, error)
    else { return false }
    if first.lowerBound == 0, first.upperBound > 1 {
      rest[0] = 1..<first.upperBound
      pending = .sameAddress(toCompare: rest)
      return true
    }
    guard isLast else { return false }
    ranges.disuse()
    return true
  }

  private mutating func rejectBytesOnDisk(_ id: SegmentID, plan: inout SegmentPlan) -> [Command] {
    _ = close(id)
    plan.release(id)
    return stopAll(for: .startOver("the bytes on disk differ from the server's"), plan: &plan)
  }
}

/// File names from the server: the first accepted answer waits, unread, until the target is bound.
extension DownloadMachine {
  mutating func askForTarget(
    _ id: SegmentID, _ head: ResponseHead, length: Int64?, plan: inout SegmentPlan
  ) -> [Command] {
    let version = Version(validator: Validator(head.headers, now: wallSeconds), length: length)
    if let end = refusal(of: version) { return [.drop(id)] + closeAndFinish(id, end, &plan) }
    naming = .found(id, head)
    return [.bind(id)]
  }

  /// Accepts the answer, unless bytes of an earlier run count: then only the rest is requested.
  mutating func bound(_ found: Found, plan: inout SegmentPlan) -> [Command] {
    guard case .found(let id, let head) = naming else { return [] }
    naming = .known
    note(found)
    // The request was for the whole file: its header says what a request for one byte would.
    hasComparedExisting = true
    var commands: [Command] = []
    if let recovered = found.recovered, !recovered.received.isEmpty {
      let rest = SegmentPlan(length: recovered.version.length, received: recovered.received)
      if isResumable(recovered, rest) {
        _ = close(id)
        plan = rest
        adoptRecovered(recovered)
        return [.drop(id)] + (plan.isComplete ? finishing() : openMore(&plan))
      }
      if refusesToStartOver(recovered) {
        return [.drop(id)] + closeAndFinish(id, .failed(Self.isNotSame), &plan)
      }
      commands = [.phase(.restarted, reason: Self.reason(against: recovered))]
    }
    return commands + responded(id, head, false, plan: &plan)
  }
}

/// Another version, or bytes of an unknown version.
extension DownloadMachine {
  /// A change counts only after two more requests, a second apart, confirm it: server nodes may
  /// differ.
  ///
  /// - Parameter seen: what the server sends now; nil if it says nothing of its version.
  mutating func changed(
    _ id: SegmentID, _ reason: String, seen: ResponseBody? = nil, plan: inout SegmentPlan
  ) -> [Command] {
    // A copy may be older than what is on disk, or than what the server has.
    needsConfirmation = true
    if isBesideWorking(id) {
      if let seen, let version {
        changes.noteDoubt(
          Version(validator: seen.validator, length: seen.total, coding: seen.coding),
          beside: version.validator)
      }
      return closeSurplus(id, "another version", &plan)
    }
    if let seen { changes.noteDifferent(seen.validator) }
    // A difference was expected: do not ask again.
    if pending == .otherAddress { return startOverWithNewResource(id, plan: &plan) }
    guard changes.restarts == 0, !plan.isCommitted else { return abandon(id, reason, plan: &plan) }
    return confirm(id, orElse: .startOver(reason), plan: &plan)
  }

  mutating func confirm(_ id: SegmentID, orElse next: Goal, plan: inout SegmentPlan) -> [Command] {
    _ = close(id)
    plan.release(id)
    changes.confirming = nil
    if goal == .confirm { changes.confirmations += 1 }
    if changes.confirmations < 2 { return [.drop(id)] + stopAll(for: .confirm, plan: &plan) }
    if case .startOver = next {
      changes.restarts += 1
      if pending == nil { changes.isOneConnection = true }
    }
    return [.drop(id)] + stopAll(for: next, plan: &plan)
  }

  /// Starts over. Fails instead if the run has already started over, or if a reader has bytes.
  mutating func abandon(_ id: SegmentID, _ reason: String, plan: inout SegmentPlan) -> [Command] {
    _ = close(id)
    plan.release(id)
    changes.confirming = nil
    var next = Goal.startOver(reason)
    if plan.isCommitted {
      next = .fail(Self.changedInStream(reason))
    } else if changes.restarts > 0 {
      next = .fail(
        TransferError(
          .changedOnServer, "\(reason), twice in one run",
          advice: "try again when the file is stable"))
    }
    return [.drop(id)] + stopAll(for: next, plan: &plan)
  }
}

/// Another version, seen by an additional connection only.
extension DownloadMachine {
  /// All bytes have come. Without a digest, the server is asked which version it has now, if there
  /// is doubt.
  mutating func received(_ plan: inout SegmentPlan) -> [Command] {
    guard checksums.isEmpty, let other = changes.takeDoubt() else { return finishing() }
    let id = plan.assignNothing()
    let command = open(id, plan)
    change(id) { $0.purpose = .identify(other) }
    return [command]
  }

  /// The file changed if the server sends the other version again. With the first one, or a new one
  /// each time, nothing is known against the bytes: they are of one version.
  mutating func identified(
    _ id: SegmentID, _ verdict: ResponseVerdict, other: Version, plan: inout SegmentPlan
  ) -> [Command] {
    if let version, let body = verdict.body, comparison(of: body, to: version) == .different,
      comparison(of: body, to: other) != .different
    {
      changes.isOneConnection = true
      let commands = abandon(id, "the file changed on the server", plan: &plan)
      changes.restarts += 1
      return commands
    }
    _ = close(id)
    plan.release(id)
    return [.drop(id)] + finishing()
  }
}

extension ResponseVerdict {
  fileprivate var body: ResponseBody? {
    switch self {
    case .range(let body), .whole(let body): body
    default: nil
    }
  }
}

import HaulCore
import HaulFiles

/// What an earlier run left.
extension DownloadRun {
  /// What the part file is worth to this request.
  mutating func recover(_ target: FileTarget) async -> DownloadMachine.Recovered? {
    let recovery = target.recovery
    // Bytes that failed one digest are worth something only to another.
    let isRejected =
      request.checksums.isEmpty
      ? !recovery.rejected.isEmpty : request.checksums.contains { recovery.rejected.contains($0) }
    guard let head = recovery.head, !request.startOver, !request.decodesContent, !isRejected,
      !recovery.received.isEmpty
    else { return nil }
    // While the server is asked for the name, the plan is that of its first answer.
    let isBound = !machine.rules.learnsName
    plan.update { state in
      if isBound { state.plan = SegmentPlan(length: head.length, received: recovery.received) }
      state.earlier = recovery.received
    }
    reused = recovery.received.byteCount
    var recovered = DownloadMachine.Recovered(
      version: .init(
        validator: head.validator, length: head.length,
        announced: head.announced.flatMap { Checksum($0) }),
      isSameAddress: head.isOf(request.url), hasSameTokens: head.hasTokens(of: request.url),
      isUnproved: recovery.isUnproved, location: head.knownLocation, received: recovery.received)
    if request.allowUnverified || !recovered.hasSameTokens, recovered.isSameAddress {
      // What cannot be read is not compared, and does not count.
      recovered.places = (try? await target.comparisonPlaces()) ?? []
    }
    return recovered
  }

  /// Whether an answer comes from somewhere else than the bytes that an earlier run left.
  func leadsElsewhere(_ head: ResponseHead) -> Bool {
    guard machine.hasPending, let earlier = target?.recovery.head else { return false }
    return !earlier.cameFrom(head.url)
  }

  /// Whether what is on disk goes with a cancelled run: not the bytes of another address, of which
  /// nothing was replaced.
  var mayDiscard: Bool {
    guard let head = target?.recovery.head, !machine.hasReplaced else { return true }
    return head.isOf(request.url) || driver.former != nil
  }
}

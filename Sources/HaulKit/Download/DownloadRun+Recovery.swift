import HaulCore
import HaulFiles

/// Recovers what an earlier run left.
extension DownloadRun {
  /// How much of the part file this request can use.
  mutating func recover(_ target: FileTarget) async -> DownloadMachine.Recovered? {
    let recovery = target.recovery
    // Bytes that failed one digest are useful only for another.
    let isRejected =
      request.checksums.isEmpty
      ? !recovery.rejected.isEmpty : request.checksums.contains { recovery.rejected.contains($0) }
    guard let head = recovery.head, !request.startOver, !request.decodesContent, !isRejected,
      !recovery.received.isEmpty
    else { return nil }
    // When the server sends the name, the plan is that of its first answer.
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
      // Bytes that cannot be read are not compared and do not count.
      recovered.places = (try? await target.comparisonPlaces()) ?? []
    }
    return recovered
  }

  /// Whether an answer comes from another address than the bytes of an earlier run.
  func leadsElsewhere(_ head: ResponseHead) -> Bool {
    guard machine.hasPending, let earlier = target?.recovery.head else { return false }
    return !earlier.cameFrom(head.url)
  }

  /// Whether cancelling deletes the bytes on disk: not if they are of another address and none was
  /// replaced.
  var mayDiscard: Bool {
    guard let head = target?.recovery.head, !machine.hasReplaced else { return true }
    return head.isOf(request.url) || driver.former != nil
  }
}

import HaulCore
import HaulFiles

/// Recovers what an earlier run left.
extension DownloadRun {
  /// What this request can use of the part file; nil for nothing.
  mutating func recover(_ target: FileTarget) async -> DownloadMachine.Recovered? {
    let recovery = target.recovery
    // Bytes that failed the check of a digest are used only if another digest is requested.
    let isRejected =
      request.checksums.isEmpty
      ? !recovery.rejected.isEmpty : request.checksums.contains { recovery.rejected.contains($0) }
    guard let head = recovery.head, !request.startOver, !request.decodesContent, !isRejected,
      !recovery.received.isEmpty, head.isOfClient == request.isOfClient
    else { return nil }
    // If the server sends the name, the plan of its first answer is kept.
    let isBound = !driver.learnsName
    plan.update { state in
      if isBound { state.plan = SegmentPlan(length: head.length, received: recovery.received) }
      state.earlier = recovery.received
    }
    reused = recovery.received.byteCount
    var recovered = DownloadMachine.Recovered(
      version: .init(
        validator: head.validator, length: head.length,
        announced: head.announced.flatMap { Checksum($0) }, coding: head.coding),
      isSameAddress: head.matches(request.url), hasSameTokens: head.hasTokens(of: request.url),
      mayMixVersions: recovery.mayMixVersions, location: head.knownLocation,
      received: recovery.received)
    let isDoubtful =
      request.allowUnverified || !recovered.hasSameTokens
      || head.validator.isOfMetadata(length: head.length)
    if isDoubtful, recovered.isSameAddress {
      // Without readable bytes there is nothing to compare.
      recovered.comparisonRanges = (try? await target.comparisonRanges()) ?? []
    }
    return recovered
  }

  /// Whether an answer comes from another address than the bytes of an earlier run.
  func isFromOtherAddress(_ head: ResponseHead) -> Bool {
    guard machine.hasPending, let earlier = target?.recovery.head else { return false }
    return !earlier.cameFrom(head.url)
  }

  /// Whether a cancel deletes the bytes on disk. It does not if all of them are of another address.
  var mayDiscard: Bool {
    guard let head = target?.recovery.head, !machine.hasBytesOfThisRun else { return true }
    return head.matches(request.url) || driver.previous.location != nil
  }
}

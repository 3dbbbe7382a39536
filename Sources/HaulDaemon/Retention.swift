package import HaulControl
package import HaulCore
package import HaulKit
package import Logging

/// Removes from the list what ended long ago. What has failed stays, with its bytes, and so do the
/// members of a group that has not ended; nothing is stopped, and no file is deleted.
package struct Retention: Sendable {
  private static let pause: Duration = .seconds(300)

  private let manager: TransferManager
  private let kept: KeptEnds
  private let clock: any TransferClock
  private let logger: Logger
  /// When those that may be removed ended, so that each date is read once.
  private var ends: [TransferID: Double] = [:]

  package init(
    _ manager: TransferManager, _ kept: KeptEnds, clock: any TransferClock, logger: Logger
  ) {
    (self.manager, self.kept, self.clock, self.logger) = (manager, kept, clock, logger)
  }

  /// Looks every few minutes, until the task is cancelled.
  mutating func run() async {
    repeat {
      do throws(TransferError) {
        try await tidy()
      } catch {
        logger.error("keep-ended: \(error.message)")
      }
    } while (try? await clock.sleep(until: clock.now + Self.pause)) != nil
  }

  /// Looks once.
  /// - Throws: `io`, `disk-full`.
  package mutating func tidy() async throws(TransferError) {
    let ids = await manager.coordinator.settled([.completed, .cancelled], ofWholeGroups: true)
    let present = Set(ids)
    ends = ends.filter { present.contains($0.key) }
    try await note(ids.filter { ends[$0] == nil })
    let candidates = kept.surplus(ends, at: clock.wallSeconds)
    guard !candidates.isEmpty else { return }
    // One that has run again since then has another date.
    try await note(candidates)
    let surplus = kept.surplus(ends, at: clock.wallSeconds)
    let report = try await manager.coordinator.removeEnded(surplus)
    let count = surplus.count - report.refused.count
    if count > 0 { logger.info("removed \(count) from the list (keep-ended)") }
  }

  /// One whose date is unknown ended now.
  private mutating func note(_ ids: [TransferID]) async throws(TransferError) {
    for end in try await manager.coordinator.ends(of: ids) {
      ends[end.id] = end.time ?? ends[end.id] ?? clock.wallSeconds
    }
  }
}

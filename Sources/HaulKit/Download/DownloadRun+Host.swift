import HaulCore
import Logging

/// What the transfers of one host learn from each other.
extension DownloadRun {
  /// The host under which the scheduler knows the transfer.
  var host: String { request.url.origin.authority }

  /// Notes an answer, and informs the machine whether other transfers of the host are served.
  mutating func noteAnswer() async {
    let clock = engine.clock
    let (isOutageOver, servesOthers) = engine.scheduler.update {
      ($0.hostAnswered(for: id, at: clock.now), $0.hostServesOthers(than: id))
    }
    surroundings.hostServesOthers = servesOthers
    guard isOutageOver else { return }
    engine.noteHosts()
    await context.report(.slotsChanged)
  }

  /// Informs the machine of the host's state before an event after which it may send another
  /// request: the end of a fetch, or a tick.
  mutating func noteHost(before event: DownloadMachine.Event, at now: Instant) async {
    switch event {
    case .ended, .stopped, .tick: break
    case .failed(_, let error): if error.isOfRedirect { await noteAnswer() }
    default: return
    }
    let (id, host) = (id, host)
    (surroundings.hostHealth, surroundings.isHostPaused) = engine.scheduler.update {
      ($0.hostHealth(for: id), $0.pauseEnd(of: host).map { $0 > now } ?? false)
    }
  }

  func hostFailed(nextTrial delay: Duration?) async {
    let now = engine.clock.now
    engine.scheduler.update { $0.hostFailed(for: id, at: now, nextTrial: delay.map { now + $0 }) }
    engine.noteHosts()
    await context.report(.slotsChanged)
  }

  /// Notes that the host refused a connection while others stay open, and emits its lower limit.
  func limitHost(_ error: TransferError) async {
    let now = engine.clock.now
    if let limit = engine.scheduler.update({ $0.connectionRefused(for: id, at: now, error) }) {
      let connections = limit == 1 ? "1 connection" : "\(limit) connections"
      engine.logger.info(
        "\(host) is limited to \(connections) for now: \(error.message)",
        metadata: ["transfer": "\(id)"])
      engine.hub.emit(.limited(connections: limit, error: error), of: id, context.identity)
    }
    await context.report(.slotsChanged)
  }
}

package import HaulCore
package import HaulKit

extension TransferDocument {
  /// - Parameter wallSeconds: the present time, in seconds since 1970.
  package init(_ view: TransferView, at wallSeconds: Double) {
    let (row, summary) = (view.row, view.summary)
    self.init(
      id: row.id, kind: view.request.kind, name: row.name, url: row.address,
      identifier: row.identifier, group: row.group,
      priority: summary.priority.name, state: row.state, phase: row.phase?.rawValue,
      waiting: row.waitReason.map { Wait($0, at: wallSeconds) }, bytes: row.bytes,
      total: row.total, fraction: row.fraction, rate: row.rate.isFinite ? row.rate : 0,
      path: row.path, error: row.error.map { Failure($0) },
      result: view.result.map { EventDocument.Result($0) },
      connections: view.connections, rateLimit: view.request.rateLimit,
      startsAt: view.startsAt, start: view.startRequest.map { $0.isForced ? "forced" : "first" },
      runsToEnd: view.runsToEnd, acknowledged: view.acknowledged)
    waiting?.next = view.nextWaitReason?.code
  }
}

extension TransferDocument.Wait {
  package init(_ reason: WaitReason, at wallSeconds: Double) {
    self.init(code: reason.code, message: reason.description(at: wallSeconds))
    until = reason.until
    switch reason {
    case .dependency(let id, let isBlocked): (transfer, self.isBlocked) = (id, isBlocked)
    case .directoryMissing(let path, _): directory = path
    case .diskFull(let shortage):
      (directory, needed, free) = (shortage.directory, shortage.needed, shortage.free)
    default: break
    }
  }

  /// Nil for a code of another version. Devices are only known to the daemon.
  package var reason: WaitReason? {
    switch code {
    case "slot": .slot
    case "host-limit": .hostLimit
    case "host-refusal": .hostRefusal(until: until ?? 0)
    case "host-back-off": .hostBackOff(until: until ?? 0)
    case "host-outage": .hostOutage(until: until)
    case "retry": .retry(at: until ?? 0)
    case "dependency": transfer.map { .dependency($0, isBlocked: isBlocked ?? false) }
    case "disk-full":
      .diskFull(.init(device: 0, directory: directory ?? "", needed: needed ?? 0, free: free))
    case "directory-missing": .directoryMissing(directory ?? "", foundDevice: nil)
    case "offline": .offline
    case "start-time": .startTime(until: until ?? 0)
    case "schedule": .schedule(message, until: until)
    case "suspended": .suspended
    case "list-not-stored": .listNotStored
    default: nil
    }
  }
}

extension TransferDocument.Failure {
  init(_ error: TransferError) {
    self.init(
      code: error.code, message: error.message, status: error.status,
      isRetryable: error.isRetryable)
  }

  package var error: TransferError {
    TransferError(code, message, status: status, isRetryable: isRetryable)
  }
}

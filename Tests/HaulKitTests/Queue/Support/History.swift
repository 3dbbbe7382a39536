import HaulCore
import HaulKit
import Testing

/// The events of a manager, in order.
struct History: Sendable, CustomStringConvertible {
  /// A state change of a transfer, without details.
  enum Change: String, Sendable {
    case added, paused, resumed, completed, failed, cancelled
  }

  var events: [TransferEvent] = []

  var description: String {
    events.filter { if case .progress = $0.kind { false } else { true } }
      .map { "\($0.id) \($0.kind)" }.joined(separator: "; ")
  }

  func kinds(of transfer: Transfer) -> [TransferEvent.Kind] {
    events.filter { $0.id == transfer.id }.map(\.kind)
  }

  /// Its reported state changes, in order.
  func changes(of transfer: Transfer) -> [Change] { kinds(of: transfer).compactMap(\.change) }

  /// How often it began to run.
  func starts(of transfer: Transfer) -> Int {
    kinds(of: transfer).count { $0.isStart }
  }

  /// The transfers that began to run, in order, each as often as it did.
  var starts: [TransferID] { events.filter { $0.kind.isStart }.map(\.id) }

  /// Its reported results.
  func results(of transfer: Transfer) -> [TransferResult] {
    kinds(of: transfer).compactMap { if case .finished(let result) = $0 { result } else { nil } }
  }

  /// Its reported bytes, in order.
  func bytes(of transfer: Transfer) -> [Int64] {
    kinds(of: transfer).compactMap {
      if case .progress(let reported) = $0 { reported.bytes } else { nil }
    }
  }

  /// Its reported bytes since it was added or last resumed, in order.
  func bytesOfLastRun(of transfer: Transfer) -> [Int64] {
    kinds(of: transfer).reduce(into: []) { bytes, kind in
      if kind.change == .resumed { bytes = [] }
      if case .progress(let progress) = kind { bytes.append(progress.bytes) }
    }
  }

  /// Its reported wait reasons.
  func reasons(of transfer: Transfer) -> [WaitReason] {
    kinds(of: transfer).compactMap {
      if case .waiting(let reason) = $0 { reason } else { nil }
    }
  }
}

extension TransferEvent.Kind {
  fileprivate var isStart: Bool {
    switch self {
    case .phase(.connecting, _), .phase(.running, _): true
    default: false
    }
  }

  fileprivate var change: History.Change? {
    switch self {
    case .added: .added
    case .paused: .paused
    case .resumed: .resumed
    case .finished(let result):
      switch result.state {
      case .completed: .completed
      case .failed: .failed
      case .cancelled: .cancelled
      }
    default: nil
    }
  }
}

extension History {
  /// Checks what holds for every manager: numbers without a gap, and no event after an end until
  /// the transfer is requeued.
  func expectSound(sourceLocation: SourceLocation = #_sourceLocation) {
    let numbers = events.compactMap(\.number)
    #expect(
      zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 + 1 }, "\(numbers)",
      sourceLocation: sourceLocation)
    var ended: [TransferID: TransferEvent.Kind] = [:]
    for event in events {
      switch event.kind {
      case .resumed: ended[event.id] = nil
      // A failed transfer may be cancelled.
      case .finished where !ended[event.id].isCancellable: fallthrough
      case .progress, .phase, .attempt, .paused, .added:
        #expect(
          ended[event.id] == nil, "\(event.id) \(event.kind) after its end: \(self)",
          sourceLocation: sourceLocation)
      default: break
      }
      if case .finished = event.kind { ended[event.id] = event.kind }
    }
  }
}

extension TransferEvent.Kind? {
  fileprivate var isCancellable: Bool {
    guard case .finished(let result) = self else { return false }
    return result.state == .failed
  }
}

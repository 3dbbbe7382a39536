import GRDB
import HaulCore

/// A value stored as a small number, which never changes.
protocol StoredCode: CaseIterable {
  var code: Int { get }
}

extension StoredCode {
  /// - Throws: `io` for a number that this version does not know.
  init(code: Int, _ what: String) throws(TransferError) {
    guard let value = Self.allCases.first(where: { $0.code == code }) else {
      throw .unreadable("a \(what)")
    }
    self = value
  }
}

extension StoredStatus: StoredCode {
  var code: Int {
    switch self {
    case .queued: 0
    case .paused: 1
    case .failed: 2
    case .completed: 3
    case .cancelled: 4
    }
  }
}

extension DesiredState: StoredCode {
  var code: Int {
    switch self {
    case .run: 0
    case .paused: 1
    case .cancelled: 2
    case .removed: 3
    case .cancelledKeepingBytes: 4
    }
  }
}

extension TransferResult.State: StoredCode {
  static let allCases: [TransferResult.State] = [.completed, .failed, .cancelled]

  var code: Int {
    switch self {
    case .completed: 0
    case .failed: 1
    case .cancelled: 2
    }
  }
}

extension TransferRequest.DependencyPolicy: StoredCode {
  var code: Int {
    switch self {
    case .block: 0
    case .skip: 1
    case .run: 2
    }
  }
}

extension TransferRequest.Priority: StoredCode {
  var code: Int {
    switch self {
    case .background: 0
    case .utility: 1
    case .default: 2
    case .userInitiated: 3
    case .userInteractive: 4
    }
  }
}

import HaulKit

@MainActor final class DownloadScreen {
  private let list: TransferList
  private let manager: TransferManager

  init(_ manager: TransferManager) {
    self.manager = manager
    list = TransferList(manager)
  }

  /// - Parameter last: the number of the last event that was processed; nil the first time.
  func follow(after last: Int?) async {
    for await event in manager.events(after: last) {
      switch event {
      case .reset(let snapshot): print("\(snapshot.transfers.count) in the list")
      case .transfer(let event):
        switch event.kind {
        case .paused(let origin): print("paused by \(origin)")
        case .resumed: print("resumed")
        case .finished(let result): print(result.state, result.path ?? "")
        default: break
        }
      }
    }
  }
}

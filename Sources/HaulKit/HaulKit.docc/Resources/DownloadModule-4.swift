import HaulKit

@MainActor final class DownloadScreen {
  private let list: TransferList

  init(_ manager: TransferManager) { list = TransferList(manager) }

  /// A view that reads the rows is drawn again when they change.
  func lines() -> [String] {
    list.rows.map { row in
      let percent = row.fraction.map { "\(Int($0 * 100)) %" } ?? "…"
      return "\(row.name)  \(row.state)  \(percent)  \(row.error?.message ?? "")"
    }
  }
}

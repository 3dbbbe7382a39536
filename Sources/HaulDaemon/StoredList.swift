package import HaulControl
package import HaulCore
import HaulKit
import HaulStore

/// Reads the list of a daemon that does not run.
package struct StoredList: StoredListReader {
  package init() {}

  package func transfers(
    at location: ControlLocation, _ filter: TransferFilter, fromEnd: Bool, atMost count: Int
  ) async throws(TransferError) -> [TransferDocument]? {
    let records = StoredRecords(directory: location.list)
    guard records.exists else { return nil }
    let now = SystemClock().wallSeconds
    return try await records.read(fromEnd: fromEnd, atMost: count) { record, place in
      let member = TransferSummary(QueuedMember(record), waitReason: nil)
      guard filter.takes(member) else { return nil }
      return TransferDocument(TransferView(stored: record, at: place), at: now)
    }
  }

  package func details(
    at location: ControlLocation, of name: String
  ) async throws(TransferError) -> [(transfer: TransferDocument, details: DetailsDocument)]? {
    let records = StoredRecords(directory: location.list)
    guard records.exists else { return nil }
    let now = SystemClock().wallSeconds
    let (id, prefix) = (TransferID(name), TransferID.Prefix(name))
    let found = try await records.read { record, place -> TransferView? in
      let isMeant =
        record.id == id || record.request.identifier == name
        || id == nil && prefix?.matches(record.id) == true
      return isMeant ? TransferView(stored: record, at: place) : nil
    }
    // As for the daemon: an id before an identifier, and that before the beginning of an id.
    let exact =
      found.first { $0.row.id == id } ?? found.first { $0.request.identifier == name }
    return (exact.map { [$0] } ?? found).map { view in
      var details = DetailsDocument(id: view.row.id)
      (details.added, details.ended) = (view.added, view.ended)
      details.sources = view.request.upload?.source.files
      details.request = DetailsDocument.Request(view)
      return (TransferDocument(view, at: now), details)
    }
  }
}

import HaulCore
import Logging

/// What a run tells its log: each request and each answer. Never header fields: they hold secrets.
extension DownloadRun {
  func log(_ id: SegmentID, asks fetch: FetchRequest) {
    var metadata = metadata(id)
    if let first = fetch.firstByte {
      metadata["range"] = "\(first)-\(fetch.lastByte.map(String.init) ?? "")"
    }
    engine.logger.debug("request for \(fetch.url.redacted)", metadata: metadata)
  }

  func log(_ id: SegmentID, _ head: ResponseHead) {
    engine.logger.debug(
      "answer \(head.status) \(head.version) from \(head.url.redacted)", metadata: metadata(id))
  }

  private func metadata(_ id: SegmentID) -> Logger.Metadata {
    ["transfer": "\(driver.id)", "connection": "\(id.number)"]
  }
}

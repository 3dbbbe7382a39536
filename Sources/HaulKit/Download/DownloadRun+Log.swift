import HaulCore
import Logging

/// What is logged of each request and each answer. Never header fields: they hold secrets.
extension Engine {
  func log(asks fetch: FetchRequest, _ metadata: Logger.Metadata = [:]) {
    var metadata = metadata
    if let first = fetch.firstByte {
      metadata["range"] = "\(first)-\(fetch.lastByte.map(String.init) ?? "")"
    }
    logger.debug("request for \(fetch.url.redacted)", metadata: metadata)
  }

  func log(_ head: ResponseHead, _ metadata: Logger.Metadata = [:]) {
    logger.debug(
      "answer \(head.status) \(head.version) from \(head.url.redacted)", metadata: metadata)
  }
}

extension DownloadDriver {
  func log(_ connection: SegmentID, asks fetch: FetchRequest) {
    engine.log(asks: fetch, metadata(connection))
  }

  func log(_ connection: SegmentID, _ head: ResponseHead) {
    engine.log(head, metadata(connection))
  }

  private func metadata(_ connection: SegmentID) -> Logger.Metadata {
    ["transfer": "\(id)", "connection": "\(connection.number)"]
  }
}

import HaulCore
import Logging

/// Logs each request and answer. Never header fields: they hold secrets.
extension Engine {
  func log(asks fetch: FetchRequest, _ metadata: Logger.Metadata = [:]) {
    var metadata = metadata
    if let first = fetch.firstByte {
      metadata["range"] = "\(first)-\(fetch.lastByte.map(String.init) ?? "")"
    }
    logger.debug("request for \(fetch.url.redacted)", metadata: metadata)
  }

  func log(_ head: ResponseHead, _ metadata: Logger.Metadata = [:]) {
    let origin = head.cacheUse?.isFromCache == true ? "the cache for " : ""
    logger.debug(
      "answer \(head.status) \(head.version) from \(origin)\(head.url.redacted)",
      metadata: metadata)
    logUncheckedDigests(in: head, metadata)
  }

  /// Says what a server states of the content, and nothing here compares.
  func logUncheckedDigests(in head: ResponseHead, _ metadata: Logger.Metadata) {
    guard logger.logLevel <= .debug, (200..<300).contains(head.status) else { return }
    let names = UncheckedDigests.names(in: head.headers)
    guard !names.isEmpty else { return }
    logger.debug(
      "the server states a digest that is not checked: \(names.joined(separator: ", "))",
      metadata: metadata)
  }
}

extension DownloadRun {
  func log(_ connection: SegmentID, asks fetch: FetchRequest) {
    // Building the text costs as much as a request's header: skip it when it is not logged.
    guard engine.logger.logLevel <= .debug else { return }
    engine.log(asks: fetch, metadata(connection))
  }

  func log(_ connection: SegmentID, _ head: ResponseHead) {
    guard engine.logger.logLevel <= .debug else { return }
    engine.log(head, metadata(connection))
  }

  private func metadata(_ connection: SegmentID) -> Logger.Metadata {
    ["transfer": "\(id)", "connection": "\(connection.number)"]
  }
}

extension DownloadRun {
  func log(_ choice: ConnectionChoice) {
    var metadata: Logger.Metadata = ["transfer": "\(id)"]
    if let rate = choice.rate { metadata["rate"] = "\(Int64(rate))" }
    let number = choice.connections == 1 ? "1 connection" : "\(choice.connections) connections"
    engine.logger.debug("\(number): \(choice.reason.text)", metadata: metadata)
  }

  func log(refused error: TransferError) {
    engine.logger.info(
      "no more connections are opened: \(error.message)", metadata: ["transfer": "\(id)"])
  }

  func log(lost error: TransferError) {
    engine.logger.debug(
      "a connection was lost; reconnecting: \(error.message)",
      metadata: ["transfer": "\(id)"])
  }
}

extension ConnectionChoice.Reason {
  fileprivate var text: String {
    switch self {
    case .limit: "the limit is reached"
    case .noGain: "one more would gain too little"
    case .slower: "more of them are slower in total"
    case .refused: "the server refused one more"
    case .remembered: "the number that an earlier file of this host ended with"
    }
  }
}

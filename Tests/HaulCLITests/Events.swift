import HaulCLI
import HaulCore
import Testing

/// Creates the events of one run.
struct EventMaker {
  let url: ResourceURL
  let id: TransferID

  init(_ url: String = "https://h/x.iso?token=s3cret", id: String = "0123ABCD") throws {
    self.url = try ResourceURL(url)
    self.id = try #require(TransferID(id))
  }

  func callAsFunction(_ kind: TransferEvent.Kind) -> TransferEvent {
    TransferEvent(number: nil, id: id, url: url, kind: kind)
  }

  func progress(
    _ bytes: Int64, of total: Int64?, rate: Double = 0, connections: Int = 1
  ) -> TransferEvent {
    let progress = TransferProgress(
      bytes: bytes, total: total, rate: rate, connections: connections)
    return self(.progress(progress))
  }

  func completed(_ bytes: Int64 = 10) -> TransferEvent {
    let result = TransferResult(
      state: .completed, path: "/d/x.iso", bytes: bytes, fetched: bytes, duration: .seconds(2),
      verified: .length)
    return self(.finished(result))
  }

  func failed() -> TransferEvent {
    let error = TransferError(.notFound, "the server has no such file", status: 404)
    return self(.finished(TransferResult(state: .failed, error: error)))
  }
}

import HaulCore
import Logging

extension DownloadDriver {
  /// Notes that the host refused a connection while others of it go on, and tells its lower limit.
  func limitHost(_ error: TransferError) async {
    if let limit = engine.slots.update({ $0.connectionRefused(for: id) }) {
      let host = request.url.origin.host
      engine.logger.info(
        "\(host) gets \(limit) connection\(limit == 1 ? "" : "s") at most from now on: \(error.message)",
        metadata: ["transfer": "\(id)"])
      engine.hub.publish(.limited(connections: limit, error: error), of: id, request.url)
    }
    await slot.changed()
  }
}

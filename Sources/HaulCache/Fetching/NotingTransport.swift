import HaulCore
import NIOConcurrencyHelpers

/// The transport of a fetcher, which notes what the server says to each transfer.
struct NotingTransport: Transport {
  private struct Exchange {
    var begun: @Sendable () -> Void = {}
    var hasBegun = false
    /// Without the body.
    var response: ResourceResponse?
  }

  let network: CacheNetwork
  private let exchanges = NIOLockedValueBox<[TransferID: Exchange]>([:])

  init(_ network: CacheNetwork) { self.network = network }

  /// - Parameter begun: called when a request of this transfer is sent, or was sent already.
  func watch(_ id: TransferID, begun: @escaping @Sendable () -> Void) {
    let hasBegun = exchanges.withLockedValue {
      $0[id, default: Exchange()].begun = begun
      return $0[id]?.hasBegun == true
    }
    if hasBegun { begun() }
  }

  /// Forgets a transfer that sends nothing any more, and returns its last response.
  func end(_ id: TransferID) -> ResourceResponse? {
    exchanges.withLockedValue { $0.removeValue(forKey: id) }?.response
  }

  func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    guard let id = request.session else { return try await network.base.fetch(request) }
    let begun = exchanges.withLockedValue {
      $0[id, default: Exchange()].hasBegun = true
      return $0[id]?.begun
    }
    begun?()
    let (response, whole) = try await network.fetch(request)
    guard request.firstByte ?? 0 == 0 else { return response }
    exchanges.withLockedValue { $0[id]?.response = whole }
    if whole.status == 304 {
      throw TransferError(.refused, "the resource was not modified", status: 304)
    }
    return response
  }
}

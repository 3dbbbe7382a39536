import FoundationEssentials
package import HaulCore
package import HaulKit

/// Fetches resources through Haul's engine: with its limits, priorities, retries, pauses of hosts
/// that ask for one, and the resumption of a body that broke off.
package final class EngineFetcher: ResourceFetcher {
  private let manager: TransferManager
  private let transport: NotingTransport

  /// - Throws: `tls`, `internal`, as `TransferManager.init`.
  package init(
    _ configuration: TransferManager.Configuration, transport: (any Transport)?
  ) throws(TransferError) {
    var configuration = configuration
    // A load fails soon. The cache remembers that, and decides when to ask again.
    configuration.waitsForNetwork = false
    configuration.waitsForDisk = false
    self.transport = NotingTransport(try CacheNetwork(configuration, transport))
    manager = try TransferManager(configuration, transport: self.transport)
  }

  deinit {
    Task { [manager, transport] in
      await manager.shutdown()
      await transport.network.shutdown()
    }
  }

  package func fetch(
    _ request: ResourceFetchRequest
  ) async throws(TransferError) -> ResourceResponse {
    let transfer = try await manager.add(request.transfer)
    transport.watch(transfer.id) { request.noteBegun() }
    request.priority.observe { _ in
      // The latest value counts, whichever task runs last.
      Task { try? await transfer.setPriority(request.priority.value) }
    }
    let result = await withTaskCancellationHandler {
      await collect(transfer)
    } onCancel: {
      Task { try? await transfer.cancel() }
    }
    // It has ended, and is only listed; a cancelled one ends now.
    try? await transfer.remove()
    let response = transport.end(transfer.id)
    switch result {
    case .success(let body):
      guard var response else {
        throw TransferError(.internal, "a fetch of the cache had no head")
      }
      response.body = body
      if response.headers["Content-Length"] == nil {
        response.headers.append("Content-Length", "\(body.count)")
      }
      return response
    case .failure(let error):
      // What the server said counts, if it is why the fetch failed.
      guard let response, response.status == error.status, !response.hasBody else { throw error }
      return response
    }
  }

  private func collect(_ transfer: Transfer) async -> Result<Data, TransferError> {
    do throws(TransferError) {
      var body = Data()
      for try await chunk in try await manager.bytes(of: transfer) {
        chunk.withUnsafeBytes { body.append(contentsOf: $0) }
      }
      return .success(body)
    } catch {
      return .failure(error)
    }
  }
}

extension ResourceFetchRequest {
  fileprivate var transfer: TransferRequest {
    var download = DownloadRequest(url: url, to: .stream)
    download.headers = headers
    download.maximumSize = maximumSize == .max ? nil : maximumSize
    download.connections = 1
    download.retry.retries = 2
    var wanted = TransferRequest(.download(download))
    wanted.priority = priority.value
    wanted.reportsProgress = false
    return wanted
  }
}

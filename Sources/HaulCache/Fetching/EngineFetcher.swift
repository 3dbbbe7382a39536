import FoundationEssentials
package import HaulCore
import HaulHTTP
package import HaulKit
import Synchronization

/// Fetches resources through Haul's engine: with its limits, priorities, retries, pauses of hosts
/// that ask for one, and the resumption of a body that broke off.
package final class EngineFetcher: ResourceFetcher {
  private let manager: TransferManager
  private let transport: ConditionalTransport
  /// Haul's own; nil for a caller's, which stays theirs.
  private let client: HTTPTransport?
  private let last = Atomic(0)

  /// - Throws: `tls`, `internal`, as `TransferManager.init`.
  package init(
    _ configuration: TransferManager.Configuration, transport: (any Transport)?
  ) throws(TransferError) {
    var configuration = configuration
    // A load fails soon. The cache remembers that, and decides when to ask again.
    configuration.waitsForNetwork = false
    configuration.waitsForDisk = false
    var client: HTTPTransport?
    let base: any Transport
    if let transport {
      base = transport
    } else {
      let own = try HTTPTransport(HTTPTransport.Settings(configuration))
      (base, client) = (own, own)
    }
    self.client = client
    self.transport = ConditionalTransport(base: base, clock: SystemClock())
    manager = try TransferManager(configuration, transport: self.transport)
  }

  deinit {
    Task { [manager, client] in
      await manager.shutdown()
      await client?.shutdown()
    }
  }

  package func fetch(
    _ request: ResourceFetchRequest
  ) async throws(TransferError) -> ResourceResponse {
    let name = "\(last.wrappingAdd(1, ordering: .relaxed).newValue)"
    let (plain, conditions) = request.splitConditions
    transport.begin(name, conditions: conditions) { request.noteBegun() }
    do throws(TransferError) {
      let body = try await bytes(of: request, headers: plain, named: name)
      guard let exchange = transport.end(name), let response = exchange.response(body) else {
        throw TransferError(.internal, "a fetch of the cache had no head")
      }
      return response
    } catch {
      // What the server said counts, if it is why the fetch failed.
      guard let exchange = transport.end(name), let status = error.status,
        exchange.head?.status == status, let response = exchange.response(Data())
      else { throw error }
      return response
    }
  }

  private func bytes(
    of request: ResourceFetchRequest, headers: HeaderFields, named name: String
  ) async throws(TransferError) -> Data {
    var download = DownloadRequest(url: request.url, to: .stream)
    download.headers =
      headers.fields.map { (name: $0.name, value: $0.value) }
      + [(name: ConditionalTransport.exchangeField, value: name)]
    download.maximumSize = request.maximumSize == .max ? nil : request.maximumSize
    download.connections = 1
    download.retry.retries = 2
    var wanted = TransferRequest(.download(download))
    wanted.priority = request.priority.value
    wanted.reportsProgress = false
    let transfer = try await manager.add(wanted)
    request.priority.observe { _ in
      // The latest value counts, whichever task runs last.
      Task { try? await transfer.setPriority(request.priority.value) }
    }
    let result = await withTaskCancellationHandler {
      await collect(transfer)
    } onCancel: {
      Task { try? await transfer.cancel() }
    }
    // It has ended, and is only listed.
    try? await transfer.remove()
    return try result.get()
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
  /// The fields that are no conditions, and those that are.
  fileprivate var splitConditions: (HeaderFields, [HeaderFields.Field]) {
    func isCondition(_ field: HeaderFields.Field) -> Bool {
      ["if-none-match", "if-modified-since"].contains(field.name.lowercased())
    }
    return (
      HeaderFields(headers.fields.filter { !isCondition($0) }), headers.fields.filter(isCondition)
    )
  }
}

extension ConditionalTransport.Exchange {
  /// The response as without ranges: the engine has assembled the whole body.
  fileprivate func response(_ body: Data) -> ResourceResponse? {
    guard let head else { return nil }
    var headers = head.headers
    let isWhole = head.status == 206
    if isWhole {
      headers.remove("Content-Range")
      headers.remove("Content-Length")
      headers.append("Content-Length", "\(body.count)")
    }
    return ResourceResponse(
      status: isWhole ? 200 : head.status, headers: headers, body: body,
      requestedAt: requestedAt, answeredAt: answeredAt, wasRedirected: head.wasRedirected)
  }
}

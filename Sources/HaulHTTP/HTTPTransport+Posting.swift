import AsyncHTTPClient
package import HaulCore
import NIOCore
import NIOHTTP1

extension HTTPTransport {
  /// The head of an answer to a message.
  package struct Receipt: Sendable {
    package let status: Int
    /// How long the server asked to wait.
    package let retryAfter: Duration?
  }

  /// Sends a message, follows no redirect, and reads only the head of the answer.
  /// - Parameters:
  ///   - publicOnly: refuses a host with a private address. Through a proxy, only an address that
  ///     needs no lookup can be judged.
  ///   - wallSeconds: the present time, for a date in `Retry-After`.
  /// - Throws: `redirect-refused` for a private address; as a fetch does.
  package func post(
    _ body: [UInt8], _ fields: HeaderFields, to url: ResourceURL, publicOnly: Bool,
    within limit: Duration, at wallSeconds: Double
  ) async throws(TransferError) -> Receipt {
    let origin = url.origin
    let request = FetchRequest(url: url, headers: fields)
    let route = try route(for: request)
    do {
      if publicOnly { try PrivateHostRegistry.check(origin) }
      let key = key(for: request, over: route, mustBePublic: publicOnly)
      let client = try clients.client(for: key)
      defer { clients.release(key) }
      var message = HTTPClientRequest(url: address(of: url, over: route))
      message.method = .POST
      message.headers = try headers(of: request, over: route)
      message.body = .bytes(ByteBuffer(bytes: body))
      let answer = try await client.execute(message, deadline: .now() + TimeAmount(limit))
      let waits = answer.headers["Retry-After"].map { ("Retry-After", $0) }
      return Receipt(
        status: Int(answer.status.code),
        retryAfter: RetryAfter.delay(HeaderFields(waits), now: wallSeconds))
    } catch {
      let mapped = TransferError(mapping: error, from: origin, via: route)
      guard mapped.code == .redirectRefused else { throw mapped }
      throw TransferError(.redirectRefused, "\(origin.host) has a private address")
    }
  }
}

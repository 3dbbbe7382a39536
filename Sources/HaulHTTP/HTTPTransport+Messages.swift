import HaulCore
import NIOHTTP1

/// What a request says: its line and its fields.
extension HTTPTransport {
  /// The address that the client connects to.
  func address(of url: ResourceURL, over route: Route) -> String {
    let target = url.hasTextualPath ? url.pathAndQuery : "/"
    if route.hidesOrigin, let proxy = route.proxy { return "http://\(proxy)\(target)" }
    let origin = url.origin
    let name = HostnameVerification.serverName(of: origin.host)
    if origin.hostField != origin.authority {
      let host = settings.target(of: origin.host).replacingBytes("%", with: "%25")
      return "\(origin.scheme)://[\(host)]:\(origin.port)\(target)"
    }
    if name != origin.host { return "\(origin.scheme)://\(name):\(origin.port)\(target)" }
    return url.hasTextualPath
      ? url.normalized.absoluteString : "\(url.origin.scheme)://\(url.origin.authority)/"
  }

  /// The request line and the fields that `PlainHTTPClient` sends to the origin.
  /// - Parameter length: the bytes of its body; nil for none.
  func head(
    of request: FetchRequest, method: HTTPMethod = .GET, length: Int? = nil
  ) -> HTTPRequestHead {
    var headers = fields(of: request)
    if !request.headers.isEmpty {
      // The framing follows from the body.
      headers.remove(name: "Content-Length")
      headers.remove(name: "Transfer-Encoding")
    }
    if !headers.contains(name: "Host") {
      headers.add(name: "Host", value: request.url.origin.hostField)
    }
    if let length { headers.add(name: "Content-Length", value: "\(length)") }
    return HTTPRequestHead(
      version: .http1_1, method: method, uri: request.url.pathAndQuery, headers: headers)
  }

  /// The longest head of a request, in bytes. Servers refuse longer ones, and the client cannot
  /// send a body after a head that fills the buffer of a connection (64 KiB).
  private static let longestHead = 48 << 10

  /// - Throws: `protocol-violation` for a head that is too long.
  func headers(
    of request: FetchRequest, over route: Route
  ) throws(TransferError) -> HTTPHeaders {
    let headers = allHeaders(of: request, over: route)
    try Self.checkLength(of: headers, request)
    return headers
  }

  /// - Throws: `protocol-violation` for a head that is too long.
  static func checkLength(
    of headers: HTTPHeaders, _ request: FetchRequest
  ) throws(TransferError) {
    let length = headers.reduce(request.url.absoluteString.utf8.count) {
      $0 + $1.name.utf8.count + $1.value.utf8.count
    }
    guard length <= longestHead else {
      throw TransferError(
        .protocolViolation,
        "the address and the header fields of the request have \(length) bytes",
        advice: "at most \(longestHead) are sent")
    }
  }

  private func allHeaders(of request: FetchRequest, over route: Route) -> HTTPHeaders {
    var headers = fields(of: request)
    if !request.url.hasTextualPath {
      headers.replaceOrAdd(name: RawHeadHandler.field, value: request.url.pathAndQuery)
    }
    let origin = request.url.origin
    if route.hidesOrigin || HostnameVerification.serverName(of: origin.host) != origin.host
      || origin.hostField != origin.authority
    {
      headers.replaceOrAdd(name: "Host", value: origin.hostField)
    }
    return headers
  }

  private func fields(of request: FetchRequest) -> HTTPHeaders {
    HTTPHeaders(
      request.fieldsToSend(
        codings: request.decodingLimit == nil ? "identity" : ContentDecoder.accepted,
        defaults: [("User-Agent", settings.userAgent), ("Accept", "*/*")]))
  }
}

import HaulCore
import NIOCore
import NIOHTTP1

/// The answer to one request, before any redirect is followed.
struct Answer: Sendable {
  let status: Int
  let headers: HeaderFields
  let version: HTTPVersion
  let body: FetchResponse.Body
  /// As in `FetchResponse`.
  let collected: [any ByteChunk]?

  init(_ head: HTTPResponseHead, body: FetchResponse.Body, collected: [any ByteChunk]? = nil) {
    status = Int(head.status.code)
    headers = HeaderFields(head.headers.map { .init(name: $0.name, value: $0.value) })
    version = head.version
    self.body = body
    self.collected = collected
  }

  var withoutBody: Answer {
    Answer(status: status, headers: headers, version: version, body: CollectedBody(chunks: []))
  }

  /// Whether its body may be the file.
  var hasFile: Bool {
    status != 401 && status != 407
      && RedirectPolicy.location(status: status, headers: headers) == nil
  }

  /// Whether nothing in it is for the session, and no other request follows.
  var isFinal: Bool { hasFile && headers["Set-Cookie"] == nil }

  private init(
    status: Int, headers: HeaderFields, version: HTTPVersion, body: FetchResponse.Body
  ) {
    (self.status, self.headers, self.version) = (status, headers, version)
    (self.body, collected) = (body, nil)
  }

  func response(
    to request: FetchRequest, wasRedirected: Bool, executor: LoopExecutor?
  ) -> FetchResponse {
    var head = ResponseHead(
      status: status, headers: headers, url: request.url, wasRedirected: wasRedirected,
      version: version.name)
    if wasRedirected { head.redirection = request.redirection }
    return FetchResponse(head: head, body: body, executor: executor, collected: collected)
  }
}

extension HTTPVersion {
  /// The usual name of the version: HTTP/2 has no minor number.
  fileprivate var name: String {
    if self == .http1_1 { return "HTTP/1.1" }
    return major == 2 ? "HTTP/2" : "HTTP/\(major).\(minor)"
  }
}

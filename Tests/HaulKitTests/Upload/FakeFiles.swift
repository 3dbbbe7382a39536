import Foundation
import HaulCore
import HaulFiles
import HaulKit
import NIOConcurrencyHelpers

/// A server of files in memory beside their source, as one transport. It takes them by PUT and by
/// WebDAV, and obeys conditions if told to.
final class FakeFiles: Transport {
  struct File: Sendable {
    let bytes: [UInt8]
    let tag: String
    /// When it was stored, by the server's clock, in seconds since 1970.
    let stored: Int64
  }

  struct State: Sendable {
    var files: [String: File] = [:]
    /// The methods of the requests, with the path of each.
    var requests: [String] = []
    /// The server's clock, in seconds since 1970; nil if it tells no dates.
    var clock: Int64?
    fileprivate var count = 0
  }

  let source: FakeSource
  private let obeys: Bool
  private let statesDigests: Bool
  private let state = NIOLockedValueBox(State())

  /// - Parameters:
  ///   - obeys: whether it obeys `If-None-Match` and `If-Match`.
  ///   - statesDigests: whether it states the digest of a file.
  init(_ source: FakeSource, obeys: Bool = true, statesDigests: Bool = true) {
    (self.source, self.obeys, self.statesDigests) = (source, obeys, statesDigests)
  }

  var snapshot: State { state.withLockedValue { $0 } }

  func change(_ body: (inout State) -> Void) { state.withLockedValue { body(&$0) } }

  func fetch(_ request: FetchRequest) async throws -> FetchResponse {
    try await source.fetch(request)
  }

  func send(_ message: SendRequest) async throws -> SendResponse {
    var body: [UInt8] = []
    if let content = message.body {
      for try await chunk in content { chunk.withBytes { body += $0 } }
    }
    let (status, fields, text) = state.withLockedValue { state in
      state.requests.append("\(message.method) \(message.url.path)")
      var (status, fields, text) = answer(message, body, &state)
      if let clock = state.clock { fields.append(("Date", Self.date(clock))) }
      return (status, fields, text)
    }
    return SendResponse(
      head: ResponseHead(status: status, headers: HeaderFields(fields), url: message.url),
      body: Array(text.utf8))
  }

  private func answer(
    _ message: SendRequest, _ body: [UInt8], _ state: inout State
  ) -> (Int, [(String, String)], String) {
    let (path, headers) = (message.url.path, message.headersToSend)
    let file = state.files[path]
    switch message.method {
    case "HEAD":
      guard let file else { return (404, [], "") }
      var fields = [("Content-Length", "\(file.bytes.count)"), ("ETag", file.tag)]
      if state.clock != nil { fields.append(("Last-Modified", Self.date(file.stored))) }
      if statesDigests {
        fields.append(("Repr-Digest", "sha-256=:\(Self.digest(file.bytes)):"))
      }
      return (200, fields, "")
    case "PUT":
      let isUnmet =
        headers["If-None-Match"] == "*" && file != nil
        || headers["If-Match"].map { $0 != file?.tag } ?? false
      guard !obeys || !isUnmet else { return (412, [], "") }
      state.put(body, at: path)
      return (201, [], "")
    case "PROPFIND":
      guard let file else { return (404, [], "") }
      return (207, [], Self.properties(of: file))
    case "MKCOL": return (405, [], "")
    case "MOVE":
      let target = headers["Destination"] ?? ""
      guard let file else { return (404, [], "") }
      guard headers["Overwrite"] != "F" || state.files[target] == nil else {
        return (412, [], "")
      }
      state.files[path] = nil
      state.put(file.bytes, at: target)
      return (201, [], "")
    case "DELETE": return (state.files.removeValue(forKey: path) == nil ? 404 : 204, [], "")
    default: return (405, [], "")
    }
  }

  private static func date(_ seconds: Int64) -> String {
    HTTPDate(secondsSince1970: seconds).imfFixdate
  }

  private static func digest(_ bytes: [UInt8]) -> String {
    var digest = IncrementalDigest([.sha256])
    bytes.withUnsafeBytes { digest.update($0) }
    return Data(digest.checksums[0].bytes).base64EncodedString()
  }

  private static func properties(of file: File) -> String {
    """
    <multistatus xmlns="DAV:"><response><href>/</href><propstat><prop><resourcetype/>\
    <getcontentlength>\(file.bytes.count)</getcontentlength><getetag>\(file.tag)</getetag>\
    <getlastmodified>\(date(file.stored))</getlastmodified>\
    </prop><status>HTTP/1.1 200 OK</status></propstat></response></multistatus>
    """
  }
}

extension FakeFiles.State {
  fileprivate mutating func put(_ bytes: [UInt8], at path: String) {
    count += 1
    files[path] = FakeFiles.File(bytes: bytes, tag: "\"\(count)\"", stored: clock ?? 0)
  }
}

import Crypto
import FoundationEssentials
import HaulCore
import NIOConcurrencyHelpers

/// Signs requests for S3 stores (AWS Signature Version 4), and for the token service. Paths are
/// encoded once, and not normalised, as S3 wants it.
package struct RequestSigner: Sendable {
  private let accessKeyID: String
  private let secret: String
  private let sessionToken: String?
  private let region: String
  private let service: String
  /// The date and time of the signature, such as `20130524T000000Z`.
  private let time: String

  /// - Parameter service: that the signatures name.
  package init(
    _ credentials: S3Credentials, region: String, service: String = "s3", wallSeconds: Double
  ) {
    accessKeyID = credentials.accessKeyID
    secret = credentials.secretAccessKey
    sessionToken = credentials.sessionToken
    (self.region, self.service) = (region, service)
    time = HTTPDate(secondsSince1970: Int64(wallSeconds)).iso8601Basic
  }

  /// The hash of a body that is not signed.
  package static let unsignedPayload = "UNSIGNED-PAYLOAD"

  /// The SHA-256 of a body, in hexadecimal.
  package static func hash(_ body: [UInt8]) -> String { SHA256.hash(data: body).hexDigits }

  /// The fields, and those of the signature.
  package func sign(
    _ method: String, _ url: ResourceURL, _ fields: HeaderFields, payload: String
  ) -> HeaderFields {
    var fields = fields
    for name in ["Authorization", "X-Amz-Date", "X-Amz-Content-SHA256"] { fields.remove(name) }
    fields.append("X-Amz-Date", time)
    fields.append("X-Amz-Content-SHA256", payload)
    if let sessionToken {
      fields.remove("X-Amz-Security-Token")
      fields.append("X-Amz-Security-Token", sessionToken)
    }
    let headers = Self.canonicalHeaders(fields, url)
    let names = headers.map(\.name).joined(separator: ";")
    let query = url.pathAndQuery.byteSplit(separator: "?", maxSplits: 1).dropFirst().first
    let signature = signature(
      [
        method, Self.path(of: url), Self.canonical(query ?? ""),
        headers.map { "\($0.name):\($0.value)\n" }.joined(), names, payload,
      ])
    fields.append(
      "Authorization",
      "\(Self.algorithm) Credential=\(accessKeyID)/\(scope), SignedHeaders=\(names), "
        + "Signature=\(signature)")
    return fields
  }

  /// The query that allows one method on an address, for some seconds, to anyone who has it.
  package func presignedQuery(_ method: String, _ url: ResourceURL, seconds: Int64) -> String {
    var items = [
      "X-Amz-Algorithm=\(Self.algorithm)",
      "X-Amz-Credential=\(PercentCoding.component("\(accessKeyID)/\(scope)"))",
      "X-Amz-Date=\(time)",
      "X-Amz-Expires=\(seconds)", "X-Amz-SignedHeaders=host",
    ]
    if let sessionToken {
      items.append("X-Amz-Security-Token=\(PercentCoding.component(sessionToken))")
    }
    let own = url.pathAndQuery.byteSplit(separator: "?", maxSplits: 1).dropFirst().map(String.init)
    let query = (own + items).joined(separator: "&")
    let signature = signature(
      [
        method, Self.path(of: url), Self.canonical(query[...]),
        "host:\(url.origin.hostField)\n", "host", Self.unsignedPayload,
      ])
    return "\(query)&X-Amz-Signature=\(signature)"
  }

  private static let algorithm = "AWS4-HMAC-SHA256"

  private var scope: String { "\(time.prefix(8))/\(region)/\(service)/aws4_request" }

  private static func path(of url: ResourceURL) -> String {
    String(url.pathAndQuery.prefix(beforeAnyOf: "?"))
  }

  /// - Parameter lines: of the canonical request.
  private func signature(_ lines: [String]) -> String {
    let request = Self.hash(Array(lines.joined(separator: "\n").utf8))
    let text = "\(Self.algorithm)\n\(time)\n\(scope)\n\(request)"
    return HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key).hexDigits
  }

  /// The key of this day, which the requests of a run share.
  private var key: SymmetricKey {
    let parts = ["AWS4\(secret)", String(time.prefix(8)), region, service, "aws4_request"]
    return Self.lastKey.withLockedValue { last in
      if let last, last.parts == parts { return last.key }
      let key = parts.dropFirst().reduce(SymmetricKey(data: Array(parts[0].utf8))) { key, part in
        SymmetricKey(
          data: HMAC<SHA256>.authenticationCode(for: Array(part.utf8), using: key))
      }
      last = (parts, key)
      return key
    }
  }

  /// Nearly always the next request has the same.
  private static let lastKey = NIOLockedValueBox<(parts: [String], key: SymmetricKey)?>(nil)

  /// All fields, except those that a proxy may change, and `Host`; sorted by name.
  private static func canonicalHeaders(
    _ fields: HeaderFields, _ url: ResourceURL
  ) -> [(name: String, value: String)] {
    var values = ["host": [url.origin.hostField]]
    for field in fields.fields {
      let name = field.name.lowercased()
      guard !unsigned.contains(name) else { continue }
      values[name, default: []].append(withSingleSpaces(field.value))
    }
    return values.map { ($0.key, $0.value.joined(separator: ",")) }.sorted { $0.name < $1.name }
  }

  /// Without spaces and tabs at its ends, and with one space for several within.
  private static func withSingleSpaces(_ value: String) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(value.utf8.count)
    for byte in value.utf8 {
      let byte = byte == UInt8(ascii: "\t") ? UInt8(ascii: " ") : byte
      if byte != UInt8(ascii: " ") || bytes.last ?? byte != byte { bytes.append(byte) }
    }
    if bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static let unsigned: Set = [
    "connection", "expect", "host", "transfer-encoding", "user-agent", "x-amzn-trace-id",
    "authorization",
  ]

  /// The items of a query, which are encoded already, in the order of their bytes.
  private static func canonical(_ query: Substring) -> String {
    let items = query.byteSplit(separator: "&").map { item in
      let parts = item.byteSplit(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return [Array(parts[0].utf8), parts.count == 2 ? Array(parts[1].utf8) : []]
    }
    let sorted = items.sorted { left, right in
      left[0] == right[0]
        ? left[1].lexicographicallyPrecedes(right[1])
        : left[0].lexicographicallyPrecedes(right[0])
    }
    return sorted.map { item in
      item.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "=")
    }.joined(separator: "&")
  }
}

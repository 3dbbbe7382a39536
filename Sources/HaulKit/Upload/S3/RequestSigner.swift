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
  package static func hash(_ body: [UInt8]) -> String {
    SHA256.hash(data: body).withUnsafeBytes { $0.hexDigits }
  }

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
    let query = (url.query ?? "")[...]
    let signature = signature(method, url, query, headers, names, payload)
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
    let query = ((url.query.map { [$0] } ?? []) + items).joined(separator: "&")
    let host = Self.canonicalHeaders(HeaderFields(), url)
    let signature = signature(method, url, query[...], host, "host", Self.unsignedPayload)
    return "\(query)&X-Amz-Signature=\(signature)"
  }

  private static let algorithm = "AWS4-HMAC-SHA256"

  private var scope: String { "\(time.prefix(8))/\(region)/\(service)/aws4_request" }

  /// - Parameter names: of the headers, in their order.
  private func signature(
    _ method: String, _ url: ResourceURL, _ query: Substring, _ headers: [CanonicalHeader],
    _ names: String, _ payload: String
  ) -> String {
    var request = Array(method.utf8)
    request.reserveCapacity(1024)
    func add(_ text: some StringProtocol, after separator: UnicodeScalar = "\n") {
      request.append(UInt8(ascii: separator))
      request.append(contentsOf: text.utf8)
    }
    add(url.path)
    add(Self.canonical(query))
    for header in headers {
      add(header.name)
      add(header.value, after: ":")
    }
    add("")
    add(names)
    add(payload)
    let text = "\(Self.algorithm)\n\(time)\n\(scope)\n\(Self.hash(request))"
    return HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key)
      .withUnsafeBytes { $0.hexDigits }
  }

  /// The key of this day, which the requests of a run share.
  private var key: SymmetricKey {
    let day = time.prefix(8)
    return Self.lastKey.withLockedValue { last in
      if let last, last.day == day, last.secret == secret, last.region == region,
        last.service == service
      {
        return last.key
      }
      let parts = [String(day), region, service, "aws4_request"]
      let key = parts.reduce(SymmetricKey(data: Array("AWS4\(secret)".utf8))) { key, part in
        SymmetricKey(
          data: HMAC<SHA256>.authenticationCode(for: Array(part.utf8), using: key))
      }
      last = DayKey(
        secret: secret, day: String(day), region: region, service: service, key: key)
      return key
    }
  }

  private struct DayKey {
    let secret: String
    let day: String
    let region: String
    let service: String
    let key: SymmetricKey
  }

  /// Nearly always the next request has the same.
  private static let lastKey = NIOLockedValueBox<DayKey?>(nil)

  private typealias CanonicalHeader = (name: String, value: String)

  /// All fields, except those that a proxy may change, and `Host`; sorted by name. The values of a
  /// name that occurs several times are joined.
  private static func canonicalHeaders(
    _ fields: HeaderFields, _ url: ResourceURL
  ) -> [CanonicalHeader] {
    var headers: [CanonicalHeader] = [("host", url.origin.hostField)]
    for field in fields.fields {
      let name = field.name.lowercased()
      guard !unsigned.contains(name) else { continue }
      let value = withSingleSpaces(field.value)
      if let known = headers.firstIndex(where: { $0.name == name }) {
        headers[known].value += ",\(value)"
      } else {
        headers.append((name, value))
      }
    }
    return headers.sorted { $0.name < $1.name }
  }

  /// Without spaces and tabs at its ends, and with one space for several within.
  private static func withSingleSpaces(_ value: String) -> String {
    if !value.utf8.contains(where: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) {
      return value
    }
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
    if query.isEmpty { return "" }
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

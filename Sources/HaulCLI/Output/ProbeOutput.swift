import HaulControl
import HaulCore
import HaulKit

/// The output of `haul probe`. All untrusted text is escaped here.
enum ProbeOutput {
  /// One line for each known value.
  static func table(_ result: ProbeResult) -> String {
    rows(result).map { name, value in
      name + String(repeating: " ", count: max(1, 15 - name.count)) + Messages.shown(value) + "\n"
    }.joined()
  }

  private static func rows(_ result: ProbeResult) -> [(String, String)] {
    var rows = [("URL", result.url.redacted)]
    if result.finalURL != result.url { rows.append(("Final URL", result.finalURL.redacted)) }
    rows.append(("HTTP", "\(result.httpVersion), status \(result.status)"))
    rows.append(
      ("Length", result.length.map { "\(Units.bytes($0)) (\($0) bytes)" } ?? "unknown"))
    rows.append(("Ranges", result.servesRanges ? "yes" : "no"))
    if let tag = result.entityTag { rows.append(("Entity tag", tag)) }
    if let date = result.lastModified { rows.append(("Last modified", date)) }
    rows.append(
      ("Validator", result.hasStrongValidator ? "strong: identifies a version" : "not strong"))
    if let type = result.contentType { rows.append(("Content type", type)) }
    rows.append(("Name", result.fileName))
    if let name = result.suggestedName { rows.append(("Server's name", name)) }
    for digest in result.digests { rows.append(("Digest", "\(digest)")) }
    rows.append(("Plan", plan(result)))
    return rows
  }

  private static func plan(_ result: ProbeResult) -> String {
    let plan = result.plan
    let connections =
      plan.connections == 1 ? "1 connection" : "up to \(plan.connections) connections"
    let segments = plan.segments == 1 ? "1 segment" : "\(plan.segments) segments"
    let resume =
      plan.resumes ? "resumes after an interruption" : "starts over after an interruption"
    return "\(connections), \(segments); \(resume)"
  }

  static func json(_ result: ProbeResult) -> String {
    var object = ProbeObject(url: result.url.redacted)
    object.finalUrl = result.finalURL.redacted
    object.status = result.status
    object.httpVersion = result.httpVersion
    object.length = result.length
    object.ranges = result.servesRanges
    object.etag = result.entityTag
    object.lastModified = result.lastModified
    object.strong = result.hasStrongValidator
    object.contentType = result.contentType
    object.name = result.fileName
    object.serverName = result.suggestedName
    object.digest = Dictionary(
      result.digests.map { ($0.algorithm.rawValue, $0.hex) },
      uniquingKeysWith: { first, _ in first })
    object.plan = .init(
      connections: result.plan.connections, segments: result.plan.segments,
      resume: result.plan.resumes)
    return line(object)
  }

  static func json(_ error: TransferError, of url: ResourceURL) -> String {
    var object = ProbeObject(url: url.redacted)
    object.status = error.status
    object.error = .init(error, message: error.commandLineText)
    return line(object)
  }

  private static func line(_ object: ProbeObject) -> String {
    (try? JSONLines.line(of: object))
      ?? "{\"error\":{\"code\":\"internal\"},\"type\":\"probe\"}\n"
  }
}

/// The object of `haul probe --json`; unknown values are `null`.
private struct ProbeObject: Encodable {
  struct Plan: Codable, Hashable {
    let connections: Int
    let segments: Int
    let resume: Bool
  }

  let type = "probe"
  let url: String
  @Nullable var finalUrl: String?
  @Nullable var status: Int?
  @Nullable var httpVersion: String?
  @Nullable var length: Int64?
  @Nullable var ranges: Bool?
  @Nullable var etag: String?
  @Nullable var lastModified: String?
  @Nullable var strong: Bool?
  @Nullable var contentType: String?
  @Nullable var name: String?
  @Nullable var serverName: String?
  var digest: [String: String] = [:]
  @Nullable var plan: Plan?
  @Nullable var error: TransferDocument.Failure?

  init(url: String) { self.url = url }

  private enum CodingKeys: String, CodingKey {
    case type, url, status, length, ranges, etag, strong, name, digest, plan, error
    case finalUrl = "final_url"
    case httpVersion = "http_version"
    case lastModified = "last_modified"
    case contentType = "content_type"
    case serverName = "server_name"
  }
}

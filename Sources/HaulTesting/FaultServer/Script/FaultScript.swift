/// The resources of a fault server and their faults; also the JSON of the program
/// `haul-faultserver`.
public struct FaultScript: Codable, Hashable, Sendable {
  package var resources: [Resource]

  package init(_ resources: [Resource] = []) {
    self.resources = resources
  }

  /// One path of the server. Without faults it is served as RFC 9110 requires.
  public struct Resource: Hashable, Sendable {
    /// How ranges are answered.
    public enum AcceptRanges: String, Codable, Hashable, Sendable {
      /// Announces and serves ranges.
      case bytes
      /// Announces `none`, and answers every range with everything.
      case none
      /// Serves ranges without announcing them.
      case absent
    }

    /// The protocol by which it takes files.
    package enum UploadService: String, Codable, Hashable, Sendable {
      case webDAV
      /// draft-ietf-httpbis-resumable-upload, in its newest version for tests and in an older one.
      case resumable, resumable6
      case s3
      /// The same, and ignores conditions.
      case s3Unconditional
      case tus
    }

    package struct Redirect: Codable, Hashable, Sendable {
      package var status: Int
      /// `{port}` is replaced by the server's own port.
      package var location: String

      package init(status: Int = 302, location: String) {
        self.status = status
        self.location = location
      }
    }

    /// The path without a query; queries of requests are ignored.
    public var path: String
    /// The seed of the content.
    public var seed: UInt64
    /// The length of the content, in bytes.
    public var length: Int64
    /// The entity tag as sent, with quotes and `W/`; nil sends none.
    public var entityTag: String?
    /// Seconds since 1970; nil sends none.
    public var lastModified: Int64?
    /// The difference between `Date` and the present time, in seconds; nil sends no `Date`.
    package var dateOffset: Int64?
    /// The value of `Content-Type`; nil sends none.
    public var contentType: String?
    /// The value of `Content-Disposition`; nil sends none.
    public var contentDisposition: String?
    /// Other fields, each `Name: value`.
    public var headers: [String]
    /// Whether ranges are served; by default they are.
    public var acceptRanges: AcceptRanges
    /// Bytes per second of body on one connection; nil for no limit.
    public var rate: Int64?
    /// Answers every request with this instead of content.
    package var redirect: Redirect?
    /// Keeps what is uploaded below the path, which then ends with `/`.
    package var service: UploadService?
    /// The faults; none by default.
    public var faults: [Fault]

    /// A resource with a strong entity tag from the seed and an old `Last-Modified`.
    public init(_ path: String, seed: UInt64 = 1, length: Int64, faults: [Fault] = []) {
      self.path = path
      self.seed = seed
      self.length = length
      entityTag = Self.strongTag(seed: seed)
      lastModified = Self.oldDate
      dateOffset = 0
      contentType = "application/octet-stream"
      headers = []
      acceptRanges = .bytes
      self.faults = faults
    }

    /// The content, which depends only on seed and length.
    public var content: [UInt8] { SeededContent(seed: seed).bytes(at: 0, count: Int(length)) }

    /// The default strong tag of a resource with that seed.
    package static func strongTag(seed: UInt64) -> String {
      "\"seed-\(String(seed, radix: 16))\""
    }

    /// 2020-01-01 00:00 UTC.
    package static let oldDate: Int64 = 1_577_836_800

    /// A copy with some properties changed.
    package func with(_ change: (inout Resource) -> Void) -> Resource {
      var copy = self
      change(&copy)
      return copy
    }
  }
}

extension FaultScript.Resource: Codable {
  private enum Key: String, CodingKey {
    case path, seed, length, entityTag, lastModified, dateOffset, contentType
    case contentDisposition, headers, acceptRanges, rate, redirect, service, faults
  }

  /// A missing key keeps the default; with `null`, the field is not sent.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    self.init(
      try values.decode(String.self, forKey: .path),
      seed: try values.decodeIfPresent(UInt64.self, forKey: .seed) ?? 1,
      length: try values.decode(Int64.self, forKey: .length),
      faults: try values.decodeIfPresent([Fault].self, forKey: .faults) ?? [])
    func nullable<T: Decodable>(_ key: Key, _ property: inout T?) throws {
      if values.contains(key) { property = try values.decodeIfPresent(T.self, forKey: key) }
    }
    try nullable(.entityTag, &entityTag)
    try nullable(.lastModified, &lastModified)
    try nullable(.dateOffset, &dateOffset)
    try nullable(.contentType, &contentType)
    try nullable(.contentDisposition, &contentDisposition)
    try nullable(.rate, &rate)
    try nullable(.redirect, &redirect)
    try nullable(.service, &service)
    headers = try values.decodeIfPresent([String].self, forKey: .headers) ?? []
    acceptRanges = try values.decodeIfPresent(AcceptRanges.self, forKey: .acceptRanges) ?? .bytes
  }

  /// The JSON form.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(path, forKey: .path)
    try values.encode(seed, forKey: .seed)
    try values.encode(length, forKey: .length)
    try values.encode(entityTag, forKey: .entityTag)
    try values.encode(lastModified, forKey: .lastModified)
    try values.encode(dateOffset, forKey: .dateOffset)
    try values.encode(contentType, forKey: .contentType)
    try values.encode(contentDisposition, forKey: .contentDisposition)
    try values.encode(headers, forKey: .headers)
    try values.encode(acceptRanges, forKey: .acceptRanges)
    try values.encode(rate, forKey: .rate)
    try values.encode(redirect, forKey: .redirect)
    try values.encode(service, forKey: .service)
    try values.encode(faults, forKey: .faults)
  }
}

/// An object of an S3 store: where it is, and which address it has.
public struct S3Object: Hashable, Sendable {
  /// Where an address has the bucket.
  public enum Addressing: String, CaseIterable, Sendable {
    /// In the host's name at Amazon and below the stores' domains that take nothing else:
    /// `aliyuncs.com` and `myqcloud.com`. At any other endpoint in the path.
    case auto
    /// In the path.
    case path
    /// In the host's name. In the path if the host is an IP address, or if the bucket has a dot,
    /// upper case or an underscore.
    case virtual
  }

  /// The name of its bucket.
  public let bucket: String
  /// Its name in the bucket, not encoded.
  public let key: String
  /// The region that signatures name, such as `eu-central-1`.
  public let region: String
  /// Its address, without credentials.
  public let url: ResourceURL
  /// What the addresses of its bucket begin with, up to a slash.
  private let base: ResourceURL

  /// An object of a bucket. A bucket with a dot is never in the host's name, because no certificate
  /// allows that.
  /// - Parameters:
  ///   - bucket: the name of its bucket.
  ///   - key: its name in the bucket, not encoded.
  ///   - region: that signatures name.
  ///   - endpoint: the address of the store; nil for Amazon's in the region.
  ///   - addressing: whether the bucket is in the host's name or in the path.
  /// - Throws: `bad-url` for a name that no bucket or object can have, and for a key with a part
  ///   `.` or `..`: clients and proxies take it for a directory.
  public init(
    bucket: String, key: String, region: String = "us-east-1", endpoint: ResourceURL? = nil,
    addressing: Addressing = .auto
  ) throws(TransferError) {
    guard Self.isBucket(bucket) else {
      throw TransferError(.badURL, "\(bucket) is not the name of a bucket")
    }
    guard Self.isRegion(region) else {
      throw TransferError(.badURL, "\(region) is not the name of a region")
    }
    let store: ResourceURL
    if let endpoint {
      store = endpoint
    } else {
      store = try ResourceURL("https://s3.\(region).\(AmazonDomain.of(region: region))/")
    }
    guard store.query == nil, store.credentials == nil else {
      throw TransferError(.badURL, "the address of a store has no query and no user name")
    }
    let origin = store.origin
    let wantsHost =
      addressing == .virtual
      || addressing == .auto && (endpoint == nil || Self.refusesPaths(origin.host))
    let isInHost = wantsHost && Self.isHostLabel(bucket) && IPAddress(origin.host) == nil
    let above =
      isInHost
      ? "\(origin.scheme)://\(bucket).\(origin.authority)\(store.path)" : store.absoluteString
    let slash = above.hasByteSuffix("/") ? "" : "/"
    let base = try ResourceURL("\(above)\(slash)\(isInHost ? "" : "\(bucket)/")")
    try self.init(bucket, key, region, below: base)
  }

  private init(
    _ bucket: String, _ key: String, _ region: String, below base: ResourceURL
  ) throws(TransferError) {
    guard !key.isEmpty, key.utf8.count <= Self.maximumKey else {
      throw TransferError(.badURL, "the key of an object has 1 to \(Self.maximumKey) bytes")
    }
    guard Self.isPath(key) else {
      throw TransferError(
        .badURL, "the key has a part '.' or '..', or a NUL", advice: "use another key")
    }
    (self.bucket, self.key, self.region, self.base) = (bucket, key, region, base)
    url = try base.appending(path: Self.encoded(key))
  }

  /// Another object of its bucket.
  /// - Throws: `bad-url` as for the first one.
  package func sibling(_ key: String) throws(TransferError) -> S3Object {
    try S3Object(bucket, key, region, below: base)
  }

  /// A list of objects: see `S3ListPage`.
  init(listOf bucket: String, _ region: String, _ url: ResourceURL) {
    (self.bucket, key, self.region, self.url, base) = (bucket, "", region, url, url)
  }

  /// Whether the store of this host takes the bucket only in the host's name: Alibaba OSS and
  /// Tencent COS.
  static func refusesPaths(_ host: String) -> Bool {
    host.hasByteSuffix(".aliyuncs.com") || host.hasByteSuffix(".myqcloud.com")
  }

  private static let maximumKey = 1024

  /// Whether no part of a key is `.` or `..`, and it has no NUL.
  private static func isPath(_ key: String) -> Bool {
    /// Of the part, as long as it has only dots; otherwise 3.
    var dots = 0
    for byte in key.utf8 {
      switch byte {
      case 0: return false
      case UInt8(ascii: "/"):
        if dots == 1 || dots == 2 { return false }
        dots = 0
      case UInt8(ascii: ".") where dots < 3: dots += 1
      default: dots = 3
      }
    }
    return dots != 1 && dots != 2
  }

  /// Older stores allow upper case and underscores.
  private static func isBucket(_ name: String) -> Bool {
    (1...255).contains(name.utf8.count) && name != "." && name != ".."
      && name.utf8.allSatisfy { PercentCoding.isUnreserved($0) && $0 != UInt8(ascii: "~") }
  }

  private static func isHostLabel(_ name: String) -> Bool {
    (3...63).contains(name.utf8.count) && !name.hasBytePrefix("-") && !name.hasByteSuffix("-")
      && name.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x61...0x7A, UInt8(ascii: "-"): true
        default: false
        }
      }
  }

  package static func isRegion(_ name: String) -> Bool {
    (1...63).contains(name.utf8.count) && !name.hasBytePrefix("-")
      && name.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"): true
        default: false
        }
      }
  }

  /// As signatures want it: every byte except the unreserved ones and `/`.
  private static func encoded(_ key: String) -> String {
    PercentCoding.component(key, keeping: UInt8(ascii: "/"))
  }
}

/// The access key of an S3 store. Its description shows only the key's id.
public struct S3Credentials: Hashable, Sendable, CustomStringConvertible,
  CustomDebugStringConvertible, CustomReflectable
{
  /// Names the key; not a secret.
  public let accessKeyID: String
  /// The secret that signs requests.
  public let secretAccessKey: String
  /// The token of a temporary key; nil for others.
  public let sessionToken: String?

  /// An access key.
  public init(accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil) {
    self.accessKeyID = accessKeyID
    self.secretAccessKey = secretAccessKey
    self.sessionToken = sessionToken
  }

  /// The id of the key only.
  public var description: String { "S3Credentials(\(accessKeyID))" }
  /// The id of the key only.
  public var debugDescription: String { description }
  /// The id of the key only.
  public var customMirror: Mirror { Mirror(self, children: ["accessKeyID": accessKeyID]) }
}

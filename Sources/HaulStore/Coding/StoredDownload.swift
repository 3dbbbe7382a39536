import HaulCore

/// A download without its address, path and header fields.
///
/// `Missing` has the values of missing keys. They never change, so new defaults of the library do
/// not change stored requests.
struct StoredDownload: Codable, Hashable {
  var destination: String
  var createsDirectories: Bool?
  var ifExists: String?
  var durability: String?
  /// Separated by spaces.
  var checksum: String?
  var connections: Int?
  var minimumSplit: Int64?
  var rateLimit: Int64?
  var maximumSize: Int64?
  var usesSuggestedName: Bool?
  var startOver: Bool?
  var allowUnverified: Bool?
  var resumesFromOtherURL: Bool?
  var decodesContent: Bool?
  var allowInsecure: Bool?
  var creationMask: UInt32?
  var roots: [String]?
  var trustedRedirectHosts: [String]?
  var retries: Int?
  var maximumRetryTime: StoredDuration?

  private enum Missing {
    static let ifExists = DownloadRequest.IfExists.update
    static let durability = DownloadRequest.Durability.strict
    static let connections = 8
    static let minimumSplit: Int64 = 1 << 20
    static let retries = 8
    static let maximumRetryTime = Duration.seconds(3600)
  }

  init(_ download: DownloadRequest) {
    destination =
      switch download.destination {
      case .file: "file"
      case .directory: "directory"
      case .stream: "stream"
      }
    createsDirectories = nilIfEqual(download.createsDirectories, to: false)
    ifExists = nilIfEqual(download.ifExists, to: Missing.ifExists)?.rawValue
    durability = nilIfEqual(download.durability, to: Missing.durability)?.rawValue
    checksum = download.checksums.stored
    connections = nilIfEqual(download.connections, to: Missing.connections)
    minimumSplit = nilIfEqual(download.minimumSplit, to: Missing.minimumSplit)
    rateLimit = download.rateLimit
    maximumSize = download.maximumSize
    usesSuggestedName = nilIfEqual(download.usesSuggestedName, to: false)
    startOver = nilIfEqual(download.startOver, to: false)
    allowUnverified = nilIfEqual(download.allowUnverified, to: false)
    decodesContent = nilIfEqual(download.decodesContent, to: false)
    resumesFromOtherURL = nilIfEqual(download.resumesFromOtherURL, to: false)
    allowInsecure = nilIfEqual(download.allowInsecure, to: false)
    creationMask = download.creationMask
    roots = download.roots
    trustedRedirectHosts = nilIfEqual(download.trustedRedirectHosts, to: [])?.sorted()
    retries = nilIfEqual(download.retry.retries, to: Missing.retries)
    maximumRetryTime = nilIfEqual(
      download.retry.maximumTimeWithoutProgress, to: Missing.maximumRetryTime
    )
    .map(StoredDuration.init)
  }

  /// - Throws: `io` for a value that this version does not know.
  func request(_ address: ResourceURL, target: String?) throws(TransferError) -> DownloadRequest {
    var download = DownloadRequest(url: address, to: try destination(target))
    download.createsDirectories = createsDirectories ?? false
    download.ifExists = try known(ifExists, Missing.ifExists, "rule for existing files")
    download.durability = try known(durability, Missing.durability, "durability")
    download.checksums = try [Checksum](stored: checksum)
    download.connections = connections ?? Missing.connections
    download.minimumSplit = minimumSplit ?? Missing.minimumSplit
    download.rateLimit = rateLimit
    download.maximumSize = maximumSize
    download.usesSuggestedName = usesSuggestedName ?? false
    download.startOver = startOver ?? false
    download.allowUnverified = allowUnverified ?? false
    download.decodesContent = decodesContent ?? false
    download.resumesFromOtherURL = resumesFromOtherURL ?? false
    download.allowInsecure = allowInsecure ?? false
    download.creationMask = creationMask
    download.roots = roots
    download.trustedRedirectHosts = Set(trustedRedirectHosts ?? [])
    download.retry.retries = retries ?? Missing.retries
    download.retry.maximumTimeWithoutProgress =
      maximumRetryTime?.duration ?? Missing.maximumRetryTime
    return download
  }

  private func destination(_ target: String?) throws(TransferError) -> DownloadRequest.Destination {
    switch (destination, target) {
    case ("file", let path?): .file(path)
    case ("directory", let path?): .directory(path)
    case ("stream", nil): .stream
    default: throw .unreadable("a destination")
    }
  }

  private func known<Value: RawRepresentable<String>>(
    _ text: String?, _ missing: Value, _ what: String
  ) throws(TransferError) -> Value {
    guard let text else { return missing }
    guard let value = Value(rawValue: text) else { throw .unreadable("a \(what)") }
    return value
  }
}

extension DownloadRequest.Destination {
  /// The path, if it has one.
  var path: String? {
    switch self {
    case .file(let path), .directory(let path): path
    case .stream: nil
    }
  }
}

extension [Checksum] {
  /// The checksums, separated by spaces; nil when there are none.
  var stored: String? { isEmpty ? nil : map(\.description).joined(separator: " ") }

  /// - Throws: `io` for a checksum that this version does not know.
  init(stored text: String?) throws(TransferError) {
    self = []
    for word in (text ?? "").byteSplit(separator: " ") {
      guard let checksum = Checksum(String(word)) else { throw .unreadable("a checksum") }
      append(checksum)
    }
  }
}

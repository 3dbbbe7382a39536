import HaulCore

/// An upload without its address, its header fields, the texts of its form, and the address and the
/// header fields of its remote source. `Missing` has the values of missing keys, which never
/// change.
struct StoredUpload: Codable, Hashable {
  var source: String
  var method: String?
  /// `*` for no resource, or an entity tag; nil for no condition.
  var precondition: String?
  var form: [FormPart]?
  var rateLimit: Int64?
  var allowInsecure: Bool?
  var retries: Int?
  var maximumRetryTime: StoredDuration?
  var region: String?
  var roots: [String]?
  var listed: FileIdentity?
  var stream: UInt64?
  var download: StoredDownload?

  private enum Missing {
    static let method = UploadRequest.Method.put
    static let retries = 8
    static let maximumRetryTime = Duration.seconds(3600)
  }

  init(_ upload: UploadRequest) {
    source = upload.source
    method = nilIfEqual(upload.method, to: Missing.method)?.rawValue
    precondition =
      switch upload.precondition {
      case .none: nil
      case .absent: "*"
      case .entityTag(let tag): tag
      }
    form = upload.parts?.map { $0.text == nil ? $0 : FormPart($0.name, .text("")) }
    rateLimit = upload.rateLimit
    allowInsecure = nilIfEqual(upload.allowInsecure, to: false)
    retries = nilIfEqual(upload.retry.retries, to: Missing.retries)
    maximumRetryTime = nilIfEqual(
      upload.retry.maximumTimeWithoutProgress, to: Missing.maximumRetryTime
    )
    .map(StoredDuration.init)
    region = upload.region
    (roots, listed) = (upload.roots, upload.listed)
    stream = upload.stream
    download = upload.download.map(StoredDownload.init)
  }

  /// The address of its remote source is its own, until `RequestSecrets.source` is set.
  /// - Throws: `io` for a value that this version does not know.
  func request(_ address: ResourceURL) throws(TransferError) -> UploadRequest {
    var upload = UploadRequest(source, to: address)
    if let method {
      guard let known = UploadRequest.Method(rawValue: method) else {
        throw .unreadable("a method of an upload")
      }
      upload.method = known
    }
    upload.precondition = precondition.map { $0 == "*" ? .absent : .entityTag($0) } ?? .none
    upload.parts = form
    upload.rateLimit = rateLimit
    upload.allowInsecure = allowInsecure ?? false
    upload.retry.retries = retries ?? Missing.retries
    upload.retry.maximumTimeWithoutProgress = maximumRetryTime?.duration ?? Missing.maximumRetryTime
    upload.region = region
    (upload.roots, upload.listed) = (roots, listed)
    upload.stream = stream
    upload.download = try download?.request(address, target: nil)
    return upload
  }
}

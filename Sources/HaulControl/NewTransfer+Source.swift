import HaulCore

extension NewTransfer {
  /// The remote source of an upload, as JSON.
  package struct Source: Codable, Hashable, Sendable {
    package var url: String
    package var headers: [Field]?
    /// As `sha-256=HEX`.
    package var checksums: [String]?
    /// The most parts that are fetched at once.
    package var connections: Int?
    /// Bytes.
    package var maximumSize: Int64?
    package var resumesFromOtherURL: Bool?
    package var allowInsecure: Bool?
    package var trustedRedirectHosts: [String]?

    enum CodingKeys: String, CodingKey {
      case url, headers, checksums, connections
      case maximumSize = "maximum_size"
      case resumesFromOtherURL = "resumes_from_another_address"
      case allowInsecure = "allow_insecure"
      case trustedRedirectHosts = "trusted_redirect_hosts"
    }
  }

  /// An upload of a remote resource.
  func upload(_ source: Source, to text: String) throws(Problem) -> UploadRequest {
    // A download has the same options, and the same checks of them.
    var options = NewTransfer()
    options.directory = "/"
    (options.headers, options.checksums) = (source.headers, source.checksums)
    (options.connections, options.maximumSize) = (source.connections, source.maximumSize)
    options.resumesFromOtherURL = source.resumesFromOtherURL
    options.allowInsecure = source.allowInsecure
    options.trustedRedirectHosts = source.trustedRedirectHosts
    var download = try options.download(source.url)
    download.destination = .stream
    var request = UploadRequest(from: download, to: try Self.address(text))
    try apply(to: &request)
    guard request.method.uploadProtocol.isIdempotent else {
      throw Self.wrong("'get' is not for the method post")
    }
    return request
  }
}

extension NewTransfer.Source {
  init(_ download: DownloadRequest) {
    url = download.url.text
    headers = download.headers.map { NewTransfer.Field(name: $0.name, value: $0.value) }
    checksums = download.checksums.map(\.description)
    (connections, maximumSize) = (download.connections, download.maximumSize)
    resumesFromOtherURL = download.resumesFromOtherURL
    allowInsecure = download.allowInsecure
    trustedRedirectHosts = download.trustedRedirectHosts.sorted()
  }

  /// Unknown keys are errors.
  package init(from decoder: any Decoder) throws {
    let object = try decoder.strictContainer(keyedBy: CodingKeys.self)
    url = try object.decode(String.self, forKey: .url)
    headers = try object.decodeIfPresent([NewTransfer.Field].self, forKey: .headers)
    checksums = try object.decodeIfPresent([String].self, forKey: .checksums)
    connections = try object.decodeIfPresent(Int.self, forKey: .connections)
    maximumSize = try object.decodeIfPresent(Int64.self, forKey: .maximumSize)
    resumesFromOtherURL = try object.decodeIfPresent(Bool.self, forKey: .resumesFromOtherURL)
    allowInsecure = try object.decodeIfPresent(Bool.self, forKey: .allowInsecure)
    trustedRedirectHosts = try object.decodeIfPresent([String].self, forKey: .trustedRedirectHosts)
  }
}

/// What to upload, where to, and how. It is a plain value: nothing runs until it is added.
public struct UploadRequest: Sendable, Hashable {
  /// How the file is sent.
  public enum Method: String, CaseIterable, Sendable, Codable {
    /// The resource becomes the file (RFC 9110, section 9.3.4). A failed attempt is retried.
    case put = "PUT"
    /// The server decides what happens with the file (RFC 9110, section 9.3.3). Once it was sent,
    /// it is not sent again by itself, because the server may have taken it.
    case post = "POST"
    /// The address creates uploads by the tus protocol, version 1.0.0. An upload continues where it
    /// was interrupted.
    case tus = "TUS"
    /// The address is an object of an S3 store: `init(_:to:credentials:)` makes such a request. A
    /// file of more than 16 MiB is sent in parts, and continues with those that the store lacks.
    case s3 = "S3"
    /// WebDAV (RFC 4918). Missing directories are made. The file goes to a temporary name beside
    /// its own, and gets its own once the server has it whole. A source that ends with `/` is a
    /// directory, which is made there without its content.
    case webDAV = "WEBDAV"
    /// PUT, which continues where it was interrupted if the server offers that
    /// (draft-ietf-httpbis-resumable-upload): it is asked before a file of 8 MiB or more. Other
    /// servers get a plain PUT. A precondition also makes it a plain PUT.
    case resumable = "RESUMABLE"
  }

  /// What the server must have at the address, or it refuses the upload (RFC 9110, section 13.1).
  public enum Precondition: Sendable, Hashable, Codable {
    /// Anything.
    case none
    /// Nothing. The address is also asked before the upload, because some servers ignore the
    /// condition.
    case absent
    /// The version with this strong entity tag, such as `"abc"` with its quotes.
    case entityTag(String)
  }

  /// What an upload does if the server has a file at the address. To refuse it then is the
  /// precondition `absent`.
  public enum IfExists: String, CaseIterable, Sendable, Codable {
    /// It replaces the file.
    case overwrite
    /// It sends nothing, whatever the file is.
    case skip
    /// It sends nothing if the file is that of this machine: by its length and a digest, or without
    /// one by its length and date. What cannot be compared is sent.
    case update
  }

  /// What an upload sends.
  public enum Source: Sendable, Hashable {
    /// The file at this path.
    case file(String)
    /// The parts of a form, in order, with at least one file. With PUT and POST only.
    case form([FormPart])
    /// Bytes that are not in a file. They have a number once `add(_:bytes:)` of the manager has
    /// added them.
    case stream(UInt64?)
    /// A remote resource. Its header fields and its user information are sent to its own server
    /// only; rate limit and retries are those of the upload.
    indirect case remote(DownloadRequest)

    /// The files of this machine.
    package var files: [String] {
      switch self {
      case .file(let path): [path]
      case .form(let parts): parts.compactMap(\.path)
      case .stream, .remote: []
      }
    }
  }

  /// What it sends.
  public var source: Source
  /// Where to send it.
  public var url: ResourceURL
  /// How it is sent.
  public var method: Method = .put
  /// What the server must have at the address.
  public var precondition: Precondition = .none
  /// What it does if the server has a file there; for PUT, S3 and WebDAV. `skip` and `update`
  /// exclude a precondition.
  public var ifExists: IfExists = .overwrite
  /// Header fields to send. They never follow a redirect to another origin.
  public var headers = HeaderFields()
  /// The file of the token in `Authorization`, an absolute path: it is read again before requests.
  package var bearerFile: String?
  /// The most bytes per second of this transfer; nil or 0 for none. The limits of the manager also
  /// apply.
  public var rateLimit: Int64?
  /// Do not check the server's certificate.
  public var allowInsecure = false
  /// When a failed attempt is retried.
  public var retry = RetryPolicy()
  /// The region that signatures of an S3 store name; nil for `us-east-1`.
  package var region: String?
  /// Where the access key of an S3 store comes from, if the address has none.
  package var keySource: S3KeySource?
  /// The directories that its files must lie below, once links are resolved; nil for anywhere.
  package var roots: [String]?
  /// Which file its path named when its directory was listed; another one there is not sent.
  package var listed: FileIdentity?
  /// The directory that was listed then: once links are resolved, its file must lie below it. Nil
  /// for a file that was named.
  package var listedIn: String?

  /// An upload with PUT, whatever the server has at the address.
  /// - Throws: nothing for a `ResourceURL`; for any other address `bad-url`, `unsupported-scheme`.
  public init<Address: ResourceAddress>(
    _ source: String, to url: Address
  ) throws(Address.Failure) {
    (self.source, self.url) = (.file(source), try url.asResourceURL())
  }

  /// An upload to an S3 store.
  /// - Parameters:
  ///   - source: the path of the file.
  ///   - object: what the file becomes.
  ///   - credentials: sign the requests; nil for a bucket that anyone may write to.
  public init(_ source: String, to object: S3Object, credentials: S3Credentials?) {
    self.init(to: object, credentials: credentials)
    self.source = .file(source)
  }

  /// An upload with PUT of bytes that are not in a file: `add(_:bytes:)` of the manager adds it.
  /// - Throws: nothing for a `ResourceURL`; for any other address `bad-url`, `unsupported-scheme`.
  public init<Address: ResourceAddress>(to url: Address) throws(Address.Failure) {
    (source, self.url) = (.stream(nil), try url.asResourceURL())
  }

  /// An upload to an S3 store of bytes that are not in a file, as `init(to:)`.
  /// - Parameters:
  ///   - object: what the bytes become.
  ///   - credentials: sign the requests; nil for a bucket that anyone may write to.
  public init(to object: S3Object, credentials: S3Credentials?) {
    self.init(to: object.url.taking(key: credentials))
    (method, region) = (.s3, object.region)
    if let token = credentials?.sessionToken { headers.append(S3Login.tokenField, token) }
  }

  /// An upload with PUT of a remote resource, which is not written to a file.
  ///
  /// It is sent as a stream, which does not continue after a failure.
  /// - Parameter download: what to send, with the destination `.stream`.
  /// - Throws: nothing for a `ResourceURL`; for any other address `bad-url`, `unsupported-scheme`.
  public init<Address: ResourceAddress>(
    from download: DownloadRequest, to url: Address
  ) throws(Address.Failure) {
    (source, self.url) = (.remote(download), try url.asResourceURL())
  }

  /// An upload to an S3 store of a remote resource, which is not written to a file.
  ///
  /// If its server has ranges, a length and a strong validator, it is read in parts of 8 MiB, and
  /// each is sent once it is there: the upload continues with the parts that the store lacks, also
  /// after a crash. If another version is there meanwhile, it fails with `source-changed`. Any
  /// other resource is sent as a stream, which does not continue. The object gets the media type,
  /// the coding, the language, the disposition and the cache control of the resource, unless
  /// `headers` say otherwise.
  /// - Parameters:
  ///   - download: what to send, with the destination `.stream`. Its `checksums` are checked before
  ///     the object is made.
  ///   - object: what it becomes.
  ///   - credentials: sign the requests to the store; nil for a bucket that anyone may write to.
  public init(
    from download: DownloadRequest, to object: S3Object, credentials: S3Credentials?
  ) {
    self.init(to: object, credentials: credentials)
    source = .remote(download)
  }

  /// An upload of a form with POST (RFC 7578).
  /// - Parameter form: its parts, in order, with at least one file.
  /// - Throws: nothing for a `ResourceURL`; for any other address `bad-url`, `unsupported-scheme`.
  public init<Address: ResourceAddress>(
    form: [FormPart], to url: Address
  ) throws(Address.Failure) {
    (source, self.url, method) = (.form(form), try url.asResourceURL(), .post)
  }

  /// The parts of a form; none for another source.
  public var form: [FormPart] { if case .form(let parts) = source { parts } else { [] } }

  /// The download of a remote resource; nil, and not settable, for another source.
  public var download: DownloadRequest? {
    get { if case .remote(let download) = source { download } else { nil } }
    set {
      if download != nil, let newValue { source = .remote(newValue) }
    }
  }

  /// The same upload, with each path changed.
  package func mappingPaths(_ change: (String) -> String) -> UploadRequest {
    var upload = self
    (upload.roots, upload.listedIn) = (roots?.map(change), listedIn.map(change))
    upload.keySource = keySource?.mappingPaths(change)
    upload.download?.keySource = download?.keySource?.mappingPaths(change)
    upload.bearerFile = bearerFile.map(change)
    upload.download?.bearerFile = download?.bearerFile.map(change)
    switch source {
    case .file(let path): upload.source = .file(change(path))
    case .form(let parts):
      upload.source = .form(
        parts.map { FormPart($0.name, $0.path.map { .file(change($0)) } ?? $0.content) })
    case .stream, .remote: break
    }
    return upload
  }

  /// Whether a second attempt has the same effect as the first one (RFC 9110, section 9.2.2). The
  /// field that makes a POST safe to repeat is a convention of many servers.
  package var isIdempotent: Bool {
    method.uploadProtocol.isIdempotent || headers["Idempotency-Key"] != nil
  }

  /// Whether a later run needs what this one stored: to continue, or to tidy up on the server. A
  /// stream never continues; what it leaves on a tus server, that server deletes some day.
  package var keepsRecord: Bool {
    let kind = method.uploadProtocol
    return source.files.isEmpty ? kind.recordsStreams : kind.leastRecorded != nil && !isDirectory
  }

  /// As `keepsRecord`, for a file of this length in bytes.
  package func keepsRecord(of length: Int64) -> Bool {
    keepsRecord && length >= method.uploadProtocol.leastRecorded ?? 0
  }

  /// Whether it makes a directory, and sends nothing.
  package var isDirectory: Bool {
    method.uploadProtocol.makesDirectories && source.files.first?.endsWithSlash == true
  }
}

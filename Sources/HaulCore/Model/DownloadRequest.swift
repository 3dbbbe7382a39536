/// What to download, where to, and how. It is a plain value: nothing runs until it is added.
public struct DownloadRequest: Sendable, Hashable, Codable {
  /// Where a download goes.
  public enum Destination: Sendable, Hashable, Codable {
    /// At exactly this path.
    case file(String)
    /// In this directory (created if missing), under a name derived from the address.
    case directory(String)
    /// To a reader, in order, with `Transfer.bytes`: no file is written.
    case stream

    /// Whether the file's name is given, not derived.
    package var isExact: Bool { if case .file = self { true } else { false } }
  }

  /// What happens when the final name is taken.
  public enum IfExists: String, CaseIterable, Sendable, Codable {
    /// A file with the remote length and modification time (or the given checksums) is accepted as
    /// complete. An unchanged file from an earlier download of the same address is replaced when
    /// the new one is whole. Any other file is kept: as with `rename` for a derived name, as with
    /// `fail` for an exact one.
    case update
    /// Any file with that name is accepted as complete.
    case skip
    /// The new file is saved as `NAME (1).EXT`.
    case rename
    /// The old file is replaced atomically when the new one is whole. One that has the given
    /// checksums is accepted as complete.
    case overwrite
    /// The transfer fails with `name-conflict`.
    case fail
  }

  /// What a finished file survives.
  public enum Durability: String, CaseIterable, Sendable, Codable {
    /// The death of the process and a power cut.
    case strict
    /// The death of the process.
    case relaxed
  }

  /// What to download.
  public var url: ResourceURL
  /// Where to write it.
  public var destination: Destination
  /// Whether the directory of an exact path is created if missing. It always is for a derived name.
  public var createsDirectories = false
  /// What happens when the final name is taken.
  public var ifExists: IfExists = .update
  /// What a finished file survives.
  public var durability: Durability = .strict
  /// The digests that the whole file must have; all must match.
  public var checksums: [Checksum] = []
  /// Header fields to send; they never follow a redirect to another origin.
  public var headers = HeaderFields()
  /// The file of the token in `Authorization`, an absolute path: it is read again before requests.
  package var bearerFile: String?
  /// The most connections that one transfer may use.
  public var connections = 8
  /// The smallest number of bytes that justifies another connection.
  public var minimumSplit: Int64 = 1 << 20
  /// The most bytes per second of this transfer, over all its connections; nil or 0 for none. The
  /// limits of the manager also apply. `TransferManager.set` may change it while the transfer runs.
  public var rateLimit: Int64?
  /// The largest accepted length, in bytes; a longer file is refused before its body is fetched.
  public var maximumSize: Int64?
  /// Requests a compressed body (gzip, deflate, br) and stores it decoded, at most `maximumSize` or
  /// 1 GiB. It uses one connection and starts over after a pause, because a decoded body has no
  /// ranges. `checksums` are of the decoded file. An unknown coding fails with `not-yet-supported`.
  public var decodesContent = false
  /// Prefer the name that the server suggests (`Content-Disposition`), made safe, to the name in
  /// the address. It counts only for a directory.
  public var usesSuggestedName = false
  /// Discard the bytes of an earlier run.
  public var startOver = false
  /// Allow parallel ranges, and resuming after a comparison of bytes, for servers without
  /// validators. The result is then `unverified`.
  public var allowUnverified = false
  /// Resume from bytes of another address when length and strong validator match.
  public var resumesFromOtherURL = false
  /// Do not check the server's certificate. This does not apply after a redirect to another origin.
  public var allowInsecure = false
  /// Hosts that also receive the header fields and the user information after a redirect over
  /// https.
  public var trustedRedirectHosts: Set<String> = []
  /// The `umask` of the caller, for a file that another process writes; nil for this process's.
  package var creationMask: UInt32?
  /// The directories that its file must lie below, once links are resolved; nil for anywhere.
  package var roots: [String]?
  /// Whether a client over TCP added it, not the owner.
  package var isOfClient: Bool { roots != nil }
  /// Whether a client over TCP has set all header fields of a download of the owner.
  package var hasFieldsOfClient = false
  /// Whether no range is requested. A refusal counts at once: it cannot be that of a range.
  package var hasNoRanges = false
  /// When a failed attempt is retried.
  public var retry = RetryPolicy()
  /// The region of the S3 store whose object it is: then an access key signs the requests, which is
  /// the user information of the address, or comes from `keySource`. Nil for any other resource.
  package var region: String?
  /// Where the key comes from, if it is a role's.
  package var keySource: S3KeySource?

  /// A download with the defaults of the command line.
  /// - Throws: nothing for a `ResourceURL`; for any other address `bad-url`, `unsupported-scheme`.
  public init<Address: ResourceAddress>(
    url: Address, to destination: Destination
  ) throws(Address.Failure) {
    self.url = try url.asResourceURL()
    self.destination = destination
  }

  /// A download of an object of an S3 store.
  /// - Parameters:
  ///   - object: what to download.
  ///   - credentials: sign the requests; nil for an object that anyone may read.
  ///   - destination: where to write it.
  public init(_ object: S3Object, credentials: S3Credentials?, to destination: Destination) {
    self.init(url: object.url, to: destination)
    take(object, credentials, nil)
  }

  /// Makes it a download of this object, with the other options that it has.
  package mutating func take(
    _ object: S3Object, _ credentials: S3Credentials?, _ keySource: S3KeySource?
  ) {
    url = object.url.taking(key: credentials)
    region = credentials == nil && keySource == nil ? nil : object.region
    self.keySource = keySource
    if let token = credentials?.sessionToken { headers.append(S3Login.tokenField, token) }
  }

  /// The key that signs its requests; nil for a resource that is no object of an S3 store.
  package var signing: S3Login? {
    guard let region else { return nil }
    if let keySource { return S3Login(.of(keySource), region: region) }
    return url.credentials.map {
      S3Login(
        .known(S3Credentials(accessKeyID: $0.user, secretAccessKey: $0.password)), region: region)
    }
  }

  /// The address to ask: an access key is never sent.
  package var askedURL: ResourceURL { region == nil ? url : url.taking(nil) }
}

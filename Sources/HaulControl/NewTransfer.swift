package import HaulCore

/// A transfer to add, as JSON: a download, an upload or a program. Keys that are left out have the
/// defaults of the command line.
package struct NewTransfer: Codable, Hashable, Sendable {
  package struct Field: Codable, Hashable, Sendable {
    package var name: String
    package var value: String
  }

  /// A part of a form: either a text or a file.
  package struct Part: Codable, Hashable, Sendable {
    package var name: String
    package var text: String?
    /// The absolute path of the file.
    package var file: String?
  }

  /// A transfer that must complete first, by its id or by the caller's identifier.
  package struct Dependency: Codable, Hashable, Sendable {
    package var id: TransferID?
    package var identifier: String?
  }

  /// The address of a download or an upload.
  package var url: String?
  /// The absolute path of the file; it excludes `directory`.
  package var file: String?
  /// The absolute path of the directory of a file with a derived name.
  package var directory: String?
  package var createsDirectories: Bool?
  /// The absolute path of a file to upload.
  package var put: String?
  /// The parts of a form to upload, with at least one file; it excludes `put`.
  package var form: [Part]?
  /// A remote resource to upload; it excludes `put` and `form`.
  package var get: Source?
  /// How it is uploaded: `put`, `post`, `tus`, `s3`, `webdav` or `resumable`.
  package var method: String?
  /// The region of an S3 store.
  package var region: String?
  /// The strong entity tag of the version that an upload replaces.
  package var ifMatch: String?
  /// A program and its arguments, run without a shell in place of a download.
  package var run: [String]?
  /// The absolute path of the program's working directory.
  package var workingDirectory: String?
  package var isIdempotent: Bool?

  package var identifier: String?
  package var group: String?
  package var priority: String?
  package var after: [Dependency]?
  package var whenDependencyFails: TransferRequest.DependencyPolicy?
  package var reportsProgress: Bool?
  /// Seconds since 1970; 0 or a past time for at once.
  package var startsAt: Double?

  package var ifExists: DownloadRequest.IfExists?
  package var durability: DownloadRequest.Durability?
  /// As `sha-256=HEX`.
  package var checksums: [String]?
  package var headers: [Field]?
  package var connections: Int?
  /// Bytes per second; 0 for none.
  package var rateLimit: Int64?
  /// Bytes.
  package var minimumSplit: Int64?
  /// Bytes.
  package var maximumSize: Int64?
  package var decodesContent: Bool?
  package var usesSuggestedName: Bool?
  package var startOver: Bool?
  package var allowUnverified: Bool?
  package var resumesFromOtherURL: Bool?
  package var allowInsecure: Bool?
  /// The permission bits that the file does not get, in octal, such as `022`.
  package var umask: String?
  package var trustedRedirectHosts: [String]?
  package var retries: Int?
  /// Seconds.
  package var maximumRetryTime: Double?

  enum CodingKeys: String, CodingKey {
    case url, file, directory
    case createsDirectories = "creates_directories"
    case put, form, get, method, region
    case ifMatch = "if_match"
    case run
    case workingDirectory = "working_directory"
    case isIdempotent = "is_idempotent"
    case identifier, group, priority, after
    case whenDependencyFails = "when_dependency_fails"
    case reportsProgress = "reports_progress"
    case startsAt = "starts_at"
    case ifExists = "if_exists"
    case durability, checksums, headers, connections
    case rateLimit = "rate_limit"
    case minimumSplit = "minimum_split"
    case maximumSize = "maximum_size"
    case decodesContent = "decodes_content"
    case usesSuggestedName = "uses_server_name"
    case startOver = "start_over"
    case allowUnverified = "allow_unverified"
    case resumesFromOtherURL = "resumes_from_another_address"
    case allowInsecure = "allow_insecure"
    case umask
    case trustedRedirectHosts = "trusted_redirect_hosts"
    case retries
    case maximumRetryTime = "maximum_retry_time"
  }
}

/// Unknown keys are errors.
extension NewTransfer {
  package init(from decoder: any Decoder) throws {
    let object = try decoder.strictContainer(keyedBy: CodingKeys.self)
    func value<Value: Decodable>(_ key: CodingKeys) throws -> Value? {
      try object.decodeIfPresent(Value.self, forKey: key)
    }
    (url, file, directory) = (try value(.url), try value(.file), try value(.directory))
    createsDirectories = try value(.createsDirectories)
    (put, form, get) = (try value(.put), try value(.form), try value(.get))
    (method, region, ifMatch) = (try value(.method), try value(.region), try value(.ifMatch))
    (run, workingDirectory) = (try value(.run), try value(.workingDirectory))
    isIdempotent = try value(.isIdempotent)
    (identifier, group) = (try value(.identifier), try value(.group))
    (priority, after) = (try value(.priority), try value(.after))
    whenDependencyFails = try value(.whenDependencyFails)
    (reportsProgress, startsAt) = (try value(.reportsProgress), try value(.startsAt))
    (ifExists, durability) = (try value(.ifExists), try value(.durability))
    (checksums, headers) = (try value(.checksums), try value(.headers))
    (connections, rateLimit) = (try value(.connections), try value(.rateLimit))
    (minimumSplit, maximumSize) = (try value(.minimumSplit), try value(.maximumSize))
    decodesContent = try value(.decodesContent)
    usesSuggestedName = try value(.usesSuggestedName)
    startOver = try value(.startOver)
    allowUnverified = try value(.allowUnverified)
    resumesFromOtherURL = try value(.resumesFromOtherURL)
    (allowInsecure, umask) = (try value(.allowInsecure), try value(.umask))
    trustedRedirectHosts = try value(.trustedRedirectHosts)
    (retries, maximumRetryTime) = (try value(.retries), try value(.maximumRetryTime))
  }
}

extension NewTransfer.Field {
  private enum Key: String, CodingKey { case name, value }

  package init(from decoder: any Decoder) throws {
    let object = try decoder.strictContainer(keyedBy: Key.self)
    name = try object.decode(String.self, forKey: .name)
    value = try object.decode(String.self, forKey: .value)
  }
}

extension NewTransfer.Part {
  private enum Key: String, CodingKey { case name, text, file }

  package init(from decoder: any Decoder) throws {
    let object = try decoder.strictContainer(keyedBy: Key.self)
    name = try object.decode(String.self, forKey: .name)
    text = try object.decodeIfPresent(String.self, forKey: .text)
    file = try object.decodeIfPresent(String.self, forKey: .file)
  }
}

extension NewTransfer.Dependency {
  private enum Key: String, CodingKey { case id, identifier }

  package init(from decoder: any Decoder) throws {
    let object = try decoder.strictContainer(keyedBy: Key.self)
    id = try object.decodeIfPresent(TransferID.self, forKey: .id)
    identifier = try object.decodeIfPresent(String.self, forKey: .identifier)
  }
}

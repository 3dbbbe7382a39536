public import FoundationEssentials

/// What to do, with its options in the queue. It is a plain value: nothing runs until it is added.
/// Its encoded form holds the secrets of its address and header fields.
public struct TransferRequest: Sendable, Hashable, Codable {
  /// The kinds of work in a queue.
  public enum Work: Sendable, Hashable, Codable {
    /// Indirect, because long lists are copied often.
    indirect case download(DownloadRequest)
    indirect case upload(UploadRequest)
    case step(StepRequest)
  }

  /// The kinds, as events and answers name them.
  package enum Kind: String, Sendable, Codable { case download, upload, step }

  /// Another transfer that must be completed first.
  public enum Dependency: Sendable, Hashable, Codable {
    /// A transfer that was added before.
    case transfer(TransferID)
    /// The transfer with this identifier, added before or in the same call.
    case identifier(String)
  }

  /// What happens when a dependency fails, is cancelled, or is removed.
  public enum DependencyPolicy: String, CaseIterable, Sendable, Codable {
    /// It stays in the list as blocked, and resumes when the dependency is retried and completed.
    case block
    /// It fails with `dependency-failed`.
    case skip
    /// It runs anyway.
    case run
  }

  /// What happens when a transfer's identifier is added again.
  public enum IfKnown: String, CaseIterable, Sendable, Codable {
    /// It stays unchanged, whatever the new request contains.
    case keep
    /// It takes the new request, as after `TransferManager.set`: a new token or signature counts
    /// from its next run on. Its dependencies stay. While it runs, this is refused.
    case update
    /// It stays unchanged if the new request says to do the same. If not, nothing is added, and the
    /// call fails with `in-use` and what differs. Options that `set` can change while it runs
    /// (priority, rate limit, start time), dependencies and the group do not count.
    case match
    /// Nothing is added, and the call fails with `in-use`.
    case refuse
  }

  /// What to do.
  public var work: Work
  /// The caller's own name for it. Adding it again finds the same transfer; see `IfKnown`.
  public var identifier: String?
  /// The group it belongs to.
  public var group: String?
  /// Its share of the slots.
  public var priority: Priority = .default
  /// The transfers that must be completed first, in this group or another: handles, ids, or texts,
  /// which are identifiers. `[archive, "report"]` are two.
  public var after: [any TransferReference] {
    get { dependencies }
    set { dependencies = newValue.map(\.dependency) }
  }
  package var dependencies: [Dependency] = []
  /// What happens when a dependency does not complete.
  public var whenDependencyFails: DependencyPolicy = .block
  /// When it may start; nil or a past time for at once. Until then it waits with the reason
  /// `startTime` and takes no slot. `TransferManager.start` ends that wait. Once the transfer has
  /// ended, a time that was set before no longer counts.
  public var startsAt: Date? {
    get { startSeconds.map { Date(timeIntervalSince1970: $0) } }
    set { startSeconds = newValue?.timeIntervalSince1970 }
  }
  /// `startsAt` in seconds since 1970.
  package var startSeconds: Double?
  /// When a download runs again after each end, completed or failed; nil if it runs once. Between
  /// its runs it waits with the reason `startTime`: it is queued, and has not ended. A later run
  /// fetches the file only if the server has another version, and then replaces it.
  public var repetition: Repetition?
  /// Texts of the caller, which `Transfer.request` gives back; no secrets, they are stored as they
  /// are.
  public var userInfo: [String: String] = [:]
  /// Whether progress is reported; state changes always are.
  public var reportsProgress = true
  /// Whether it continues when the program ends. `TransferClient` gives it to the daemon; a
  /// `TransferManager` runs in its own program, and refuses it.
  public var isBackground = false

  /// This work, with default priority, without group or dependencies.
  public init(_ work: Work) { self.work = work }

  /// A download, changed by `change`.
  /// - Throws: nothing for a `ResourceURL`; for any other address `bad-url`, `unsupported-scheme`.
  public static func download<Address: ResourceAddress>(
    _ url: Address, to destination: DownloadRequest.Destination,
    _ change: (inout DownloadRequest) -> Void = { _ in }
  ) throws(Address.Failure) -> TransferRequest {
    var download = try DownloadRequest(url: url, to: destination)
    change(&download)
    return TransferRequest(.download(download))
  }

  /// An upload, changed by `change`.
  /// - Parameter source: the path of the file.
  /// - Throws: nothing for a `ResourceURL`; for any other address `bad-url`, `unsupported-scheme`.
  public static func upload<Address: ResourceAddress>(
    _ source: String, to url: Address, _ change: (inout UploadRequest) -> Void = { _ in }
  ) throws(Address.Failure) -> TransferRequest {
    var upload = try UploadRequest(source, to: url)
    change(&upload)
    return TransferRequest(.upload(upload))
  }

  /// A step that runs a registered closure.
  public static func step(_ name: String, input: String? = nil) -> TransferRequest {
    TransferRequest(.step(StepRequest(.named(name, input: input))))
  }

  /// A step that runs a program with its arguments, without a shell.
  /// - Parameters:
  ///   - program: its path, or a name to look up in `PATH`; then its arguments, passed unchanged.
  ///   - directory: its working directory; nil for that of the process that adds it.
  ///   - isIdempotent: whether it may run again after a pause or the death of this process stopped
  ///     it. Otherwise a pause waits for its end, and a crash fails it with `interrupted`.
  public static func step(
    program: [String], in directory: String? = nil, isIdempotent: Bool = false
  ) -> TransferRequest {
    var step = StepRequest(.program(program, directory: directory))
    step.isIdempotent = isIdempotent
    return TransferRequest(.step(step))
  }

  /// The download; nil, and not settable, for other work.
  public var download: DownloadRequest? {
    get { if case .download(let download) = work { download } else { nil } }
    set {
      if download != nil, let newValue { work = .download(newValue) }
    }
  }

  /// The upload; nil, and not settable, for other work.
  public var upload: UploadRequest? {
    get { if case .upload(let upload) = work { upload } else { nil } }
    set {
      if upload != nil, let newValue { work = .upload(newValue) }
    }
  }

  /// `startSeconds`, as a time that can be waited for and stored; nil for a value that is no
  /// number.
  package var startTime: Double? {
    startSeconds.flatMap { $0.isNaN ? nil : min(max($0, 0), 1e11) }
  }

  /// The address of its download or upload; nil for a step.
  package var url: ResourceURL? { download?.url ?? upload?.url }

  /// The limit of its own, in bytes per second; nil, and not settable, for a step.
  package var rateLimit: Int64? {
    get { download?.rateLimit ?? upload?.rateLimit }
    set {
      download?.rateLimit = newValue
      upload?.rateLimit = newValue
    }
  }

  /// The header fields that it sends; not settable for a step.
  package var headers: HeaderFields {
    get { download?.headers ?? upload?.headers ?? HeaderFields() }
    set {
      download?.headers = newValue
      upload?.headers = newValue
    }
  }

  /// The file of the token in `Authorization`; not settable for a step.
  package var bearerFile: String? {
    get { download?.bearerFile ?? upload?.bearerFile }
    set {
      download?.bearerFile = newValue
      upload?.bearerFile = newValue
    }
  }

  /// The directories that its files must lie below; nil for anywhere, and for a step, which has
  /// none to set. A transfer that was added over TCP has some.
  package var roots: [String]? {
    get { download?.roots ?? upload?.roots }
    set {
      download?.roots = newValue
      upload?.roots = newValue
    }
  }

  package var kind: Kind {
    switch work {
    case .download: .download
    case .upload: .upload
    case .step: .step
    }
  }

  /// The host that its connections count for.
  package var host: String? { url?.origin.authority }
}

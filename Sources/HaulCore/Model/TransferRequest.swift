/// What to do, and how it stands in the queue: a plain value; nothing runs until it is added.
/// Encoded it has the secrets of its address and header fields.
public struct TransferRequest: Sendable, Hashable, Codable {
  /// The kinds of members that a queue has.
  public enum Work: Sendable, Hashable, Codable {
    /// As one reference: a list of many is copied often.
    indirect case download(DownloadRequest)
    case step(StepRequest)
  }

  /// Another transfer that must be completed first.
  public enum Dependency: Sendable, Hashable, Codable {
    /// One that was added before.
    case transfer(TransferID)
    /// One with this identifier of the caller's, added before or in the same call.
    case identifier(String)
  }

  /// What happens when a transfer that must be completed first fails, is cancelled, or is removed.
  public enum DependencyPolicy: String, CaseIterable, Sendable, Codable {
    /// It stays, with the reason told, and goes on if the other one is retried and completed.
    case block
    /// It fails with `dependency-failed`.
    case skip
    /// It runs all the same.
    case run
  }

  /// What becomes of a transfer whose identifier is added again.
  public enum IfKnown: String, CaseIterable, Sendable, Codable {
    /// It stays as it is, whatever the new request says.
    case keep
    /// It does what the new request says, as after `TransferManager.set`: a new token or signature
    /// counts from its next run on. What it comes after stays. While something runs for it that is
    /// refused.
    case update
    /// Nothing is added, and the call fails with `in-use`.
    case refuse
  }

  /// What to do.
  public var work: Work
  /// A name of the caller's own. Adding it again finds the transfer that has it; see `IfKnown`.
  public var identifier: String?
  /// The group it belongs to.
  public var group: String?
  /// Its share of the slots.
  public var priority: Priority = .default
  /// What must be completed first, in this group or another.
  public var after: [Dependency] = []
  /// What happens when one of those does not complete.
  public var whenDependencyFails: DependencyPolicy = .block
  /// Whether progress is told; its states always are.
  public var reportsProgress = true

  /// This work, with default priority, in no group, after nothing.
  public init(_ work: Work) { self.work = work }

  /// A download, changed by `change`.
  public static func download(
    _ url: ResourceURL, to destination: DownloadRequest.Destination,
    _ change: (inout DownloadRequest) -> Void = { _ in }
  ) -> TransferRequest {
    var download = DownloadRequest(url: url, to: destination)
    change(&download)
    return TransferRequest(.download(download))
  }

  /// A step that runs a registered closure.
  public static func step(_ name: String, input: String? = nil) -> TransferRequest {
    TransferRequest(.step(StepRequest(.named(name, input: input))))
  }

  /// A step that runs a program with its arguments, without a shell.
  /// - Parameters:
  ///   - program: its path, or a name that is looked up in `PATH`; then its arguments, which reach
  ///     it as they are.
  ///   - directory: where it runs; nil: where the process is that adds it.
  ///   - isIdempotent: whether it may run again when it was ended midway: by a pause, or with this
  ///     process. Otherwise a pause waits for its end, and after a crash it has failed with
  ///     `interrupted`.
  public static func step(
    program: [String], in directory: String? = nil, isIdempotent: Bool = false
  ) -> TransferRequest {
    var step = StepRequest(.program(program, directory: directory))
    step.isIdempotent = isIdempotent
    return TransferRequest(.step(step))
  }

  /// The download; nil, and not to be changed, when it is something else.
  public var download: DownloadRequest? {
    get { if case .download(let download) = work { download } else { nil } }
    set {
      if download != nil, let newValue { work = .download(newValue) }
    }
  }

  /// What it downloads; nil for a step.
  package var url: ResourceURL? {
    if case .download(let download) = work { download.url } else { nil }
  }

  /// The host that it takes a place of.
  package var host: String? { url?.origin.authority }
}

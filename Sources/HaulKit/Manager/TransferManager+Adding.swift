public import FoundationEssentials
public import HaulCore
import NIOConcurrencyHelpers

extension TransferManager {
  /// Adds transfers at the end of the list, in order: all of them or none. They are stored when
  /// this returns; each starts when a slot is free.
  ///
  /// `events()` emits nothing about them before this returns. A request whose `identifier` is in
  /// the list finds the transfer that has it.
  /// - Parameters:
  ///   - requests: in the order in which they start. Relative paths, and programs without a
  ///     directory, are resolved now, against the working directory of this process.
  ///   - ifKnown: what to do with a transfer that has the identifier of a request.
  ///   - key: your name for this call. The same call again, also after a crash, adds nothing and
  ///     returns the same transfers.
  /// - Throws: `bad-name` for a path with a NUL; `io`, `disk-full` when they could not be stored;
  ///   `in-use` when an identifier is refused, or belongs to a transfer that is being removed; with
  ///   `.update` as `set`; `dependency-failed` for an unknown dependency or a cycle; `interrupted`
  ///   after `shutdown`; `not-yet-supported` for a background transfer.
  @discardableResult
  public func add(
    _ requests: [TransferRequest], ifKnown: TransferRequest.IfKnown = .keep, key: String? = nil
  ) async throws(TransferError) -> [Transfer] {
    try await added(requests, ifKnown: ifKnown, key: key).all
  }

  /// As `add`, with what a stored list had already.
  /// - Parameters:
  ///   - isPaused: whether the new ones are paused, before any of them can start.
  ///   - findsSame: whether a download without an identifier finds the transfer that has not ended
  ///     and will do the same.
  package func added(
    _ requests: [TransferRequest], ifKnown: TransferRequest.IfKnown, key: String?,
    isPaused: Bool = false, findsSame: Bool = false
  ) async throws(TransferError) -> (all: [Transfer], same: Set<TransferID>) {
    guard !requests.contains(where: \.isBackground) else {
      throw TransferError(
        .notYetSupported,
        "a background transfer needs the daemon: add it with a TransferClient")
    }
    let configuration = coordinator.engine.configuration
    let added = try await coordinator.add(
      requests.map(configuration.completed), ifKnown: ifKnown, key: key, isPaused: isPaused,
      findsSame: findsSame)
    defer { if let hold = added.hold { coordinator.engine.hub.release(hold) } }
    return (added.all.map(handle), added.same)
  }

  /// Adds one transfer.
  /// - Throws: as `add(_:ifKnown:key:)`.
  @discardableResult
  public func add(
    _ request: TransferRequest, ifKnown: TransferRequest.IfKnown = .keep
  ) async throws(TransferError) -> Transfer {
    try await add([request], ifKnown: ifKnown)[0]
  }

  /// Adds a download with default priority, in no group, changed by `change`.
  /// - Throws: as `add(_:ifKnown:key:)`; `bad-url`, `unsupported-scheme` for an address.
  @discardableResult
  public func add(
    _ url: some ResourceAddress, to destination: DownloadRequest.Destination,
    _ change: (inout DownloadRequest) -> Void = { _ in }
  ) async throws(TransferError) -> Transfer {
    try await add(.download(try url.checked(), to: destination, change))
  }

  /// Adds an upload of bytes that are not in a file: of a pipe, of a program that makes them, or of
  /// a download (`Transfer.bytes`). They are read once, and only as fast as they are sent.
  ///
  /// Up to 8 MiB are held in memory, so that they can be sent again. An upload of more with PUT,
  /// POST or WebDAV fails if its connection is lost after that. With tus, resumable uploads and S3
  /// it continues with what is held. No upload continues after a pause, or in another process.
  /// - Parameters:
  ///   - request: an `UploadRequest` that was made without a file, as `UploadRequest(to:)`. An
  ///     `identifier` that is in the list is refused.
  ///   - bytes: chunks such as `[UInt8]` or `Data`, in order. If they end with an error, the upload
  ///     fails; what the server has of it is deleted, where the protocol can do that.
  /// - Throws: `source-unreadable` for another request; as `add(_:ifKnown:key:)`.
  @discardableResult
  public func add<Bytes: AsyncSequence & Sendable>(
    _ request: TransferRequest, bytes: Bytes
  ) async throws(TransferError) -> Transfer where Bytes.Element: ByteChunk {
    guard case .upload(var upload) = request.work, case .stream = upload.source else {
      throw TransferError(.sourceUnreadable, "bytes are for an upload that was made without a file")
    }
    let streams = coordinator.engine.uploadStreams
    let number = UInt64.random(in: 1...UInt64.max)
    upload.source = .stream(number)
    var request = request
    request.work = .upload(upload)
    streams.withLockedValue { $0[number] = UploadStream(bytes) }
    do throws(TransferError) {
      return try await add([request], ifKnown: .refuse)[0]
    } catch {
      streams.withLockedValue { $0[number] = nil }
      throw error
    }
  }

  /// Adds an upload of these bytes with PUT, changed by `change`, with default priority and in no
  /// group. It is as an upload of a sequence with one chunk.
  /// - Throws: as `add(_:bytes:)`; `bad-url`, `unsupported-scheme` for an address.
  @discardableResult
  public func add(
    _ data: Data, to url: some ResourceAddress, _ change: (inout UploadRequest) -> Void = { _ in }
  ) async throws(TransferError) -> Transfer {
    var upload = UploadRequest(to: try url.checked())
    change(&upload)
    let (bytes, input) = AsyncStream.makeStream(of: Data.self)
    input.yield(data)
    input.finish()
    return try await add(TransferRequest(.upload(upload)), bytes: bytes)
  }

  /// Adds downloads with default priority, in no group.
  /// - Throws: as `add(_:ifKnown:key:)`.
  @discardableResult
  public func add(_ downloads: [DownloadRequest]) async throws(TransferError) -> [Transfer] {
    try await add(downloads.map { TransferRequest(.download($0)) })
  }

  /// Adds one download with default priority, in no group.
  /// - Throws: as `add(_:ifKnown:key:)`.
  @discardableResult
  public func add(_ download: DownloadRequest) async throws(TransferError) -> Transfer {
    try await add(TransferRequest(.download(download)))
  }

  /// Changes requests, in the order of the list: a new address for an expired link, priority,
  /// dependencies, the rules of the next run. A transfer that has ended stays as it is until
  /// `retry` or `restart`. The changes are stored together, in portions of about 8,000.
  ///
  /// An identifier cannot change, nor, once there are bytes, what gives the file another name. The
  /// bytes are used if the new address serves the same version.
  /// - Parameters:
  ///   - selection: one that runs may only get another `rateLimit`, priority or group, at once, and
  ///     other header fields: a download sends them from its next request on.
  ///   - change: edits the present request, in which dependencies are ids. Those that were
  ///     completed and removed from the list are left out.
  /// - Throws: `refused` for a change that cannot be made; `dependency-failed` for an unknown
  ///   dependency or a cycle, which the message names; `bad-name` for a path with a NUL; `io`,
  ///   `disk-full`. That one has not changed then; the others have, as far as they could be stored.
  public func set(
    _ selection: TransferSelection, _ change: @Sendable (inout TransferRequest) -> Void
  ) async throws(TransferError) -> CommandReport {
    try await coordinator.set(selection, change)
  }

  /// Registers the closure of the steps of this name, before they are added. A step without a
  /// closure fails when it gets a slot. For a stored list, pass `steps` to the initialiser.
  public func register(step name: String, _ closure: @escaping StepClosure) {
    coordinator.engine.steps.withLockedValue { $0[name] = closure }
  }
}

/// What the rest of Haul asks of an upload protocol. All else about one is in its folder, where its
/// row of this table is; a new protocol adds a folder, a `Method` and a line of `uploadProtocol`.
package struct UploadProtocol: Sendable {
  /// Whether an upload continues with the bytes that the server has.
  package enum Resuming: Sendable {
    case never, ifOffered, always
  }

  /// The protocol's name in messages.
  package let name: String
  /// The prefixes of addresses that name it, and what each stands for.
  package var schemes: [(prefix: String, http: String)] = []
  /// Whether the address is the file's own; otherwise the server chooses where the file goes.
  package var namesFile = true
  /// Whether a second attempt has the same effect as the first one (RFC 9110, section 9.2.2).
  package var isIdempotent = true
  package var resuming = Resuming.never
  /// Whether an upload may require that nothing is at the address.
  package var canRequireAbsence = false
  /// Whether an upload may require a version of what is at the address.
  package var canRequireVersion = false
  package var takesForms = false
  /// Whether a source that ends with `/` is a directory, which is made without its content.
  package var makesDirectories = false
  /// Whether the server is asked what it has before the first byte of a remote source is read.
  package var asksBeforeReading = false
  /// Whether requests are signed with the access key and for the region of a store.
  package var isSigned = false
  /// Whether an answer means nothing without its body.
  package var needsReplyBody = false
  /// The least length in bytes of a file of which a later run needs a record: to continue, or to
  /// tidy up on the server. Nil if it needs none.
  package var leastRecorded: Int64?
  /// Whether a later run needs a record of a stream, which it does not continue, to tidy up.
  package var recordsStreams = false
  /// Whether an unfinished upload costs money until a request deletes it.
  package var keepsAbandoned = false
  /// How many parts of a file are useful at once; nil if it is not sent in parts.
  package var parts: (@Sendable (SourceIdentity) -> Int)?
  /// The machine of one upload.
  package let machine: @Sendable (UploadStart) -> any UploadMachine
  /// The requests that delete an unfinished upload from its server.
  package var terminations: @Sendable (UploadRecord, UploadRequest) -> [UploadMessage] = { _, _ in
    []
  }
}

/// What a store does not take, so that other uploads to it need not find that out again.
package struct StoreRefusals: OptionSet, Sendable, Hashable {
  package let rawValue: Int

  package init(rawValue: Int) { self.rawValue = rawValue }

  package static let checksums = StoreRefusals(rawValue: 1)
  package static let conditions = StoreRefusals(rawValue: 2)
}

/// What a machine begins with.
package struct UploadStart: Sendable {
  let request: UploadRequest
  let source: SourceIdentity
  /// What of the source can be sent.
  let extent: UploadExtent
  /// What is sent instead of a file; nil for none.
  let form: FormBody?
  /// What the server of a remote source says of its bytes.
  let fields: HeaderFields
  /// When the file of this machine changed last, in seconds since 1970: also its name, its owner or
  /// its date, which does not prove its bytes. Nil for another source.
  let changed: Double?
  /// Whether an earlier run may have sent the file.
  let hasRun: Bool
  /// Whether the server is asked without a proxy.
  let staysLocal: Bool
  /// Whether a remote source is published on a condition, or not at all.
  let requiresCondition: Bool
  /// What its server has refused from others.
  let refusals: StoreRefusals
  let isAttended: Bool
  let now: Instant
  /// Seconds since 1970; nil if it is not known.
  let wallSeconds: Double?

  /// - Parameter extent: nil for all of a file.
  package init(
    _ request: UploadRequest, _ source: SourceIdentity, _ extent: UploadExtent? = nil,
    changed: Double? = nil, form: FormBody? = nil, fields: HeaderFields = HeaderFields(),
    hasRun: Bool = false, staysLocal: Bool = false, requiresCondition: Bool = false,
    refusals: StoreRefusals = [],
    isAttended: Bool, now: Instant, wallSeconds: Double? = nil
  ) {
    self.extent = extent ?? UploadExtent(end: source.size)
    (self.request, self.source, self.form, self.changed) = (request, source, form, changed)
    (self.fields, self.wallSeconds) = (fields, wallSeconds)
    (self.hasRun, self.staysLocal, self.isAttended) = (hasRun, staysLocal, isAttended)
    (self.requiresCondition, self.refusals, self.now) = (requiresCondition, refusals, now)
  }
}

extension UploadRequest.Method {
  package var uploadProtocol: UploadProtocol {
    switch self {
    case .put: .put
    case .post: .post
    case .tus: .tus
    case .s3: .s3
    case .webDAV: .webDAV
    case .resumable: .resumable
    }
  }
}

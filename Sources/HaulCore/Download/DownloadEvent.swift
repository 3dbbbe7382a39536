extension DownloadMachine {
  package enum Event: Sendable {
    /// Without what is on disk, if the name comes with the first answer.
    case start(Found)
    /// The target is bound.
    case bound(Found)
    /// Another connection may be opened.
    case connectionGranted
    /// `isFromOtherAddress`: it comes from another address than the bytes of an earlier run.
    indirect case responded(SegmentID, ResponseHead, isFromOtherAddress: Bool, wallSeconds: Double)
    /// The first bytes of the segment are written.
    case delivered(SegmentID)
    /// The body ended where it should, or at the segment's own end.
    case ended(SegmentID)
    case failed(SegmentID, TransferError)
    /// The fetch stopped, as requested.
    case stopped(SegmentID)
    /// Whether the last bytes on disk equal the server's bytes there.
    case compared(SegmentID, isSame: Bool)
    case timer(Timer)
    /// Once a second.
    case tick
    /// Several times a second, to measure the rate.
    case measured
    /// The slot that was given back during a delay has been granted again.
    case slotGranted
    /// The reader of a stream has advanced.
    case windowMoved
    case pause
    case verified(TransferError?)
    case published(TransferError?)
    /// The disk refused what a command asked for.
    case diskFailed(TransferError)
  }

  /// What its driver knows of the host and of the connections at each event.
  package struct Surroundings: Sendable {
    /// Whether other transfers of the host receive bytes now; known at each answer.
    package var hostServesOthers = false
    /// The fetches whose bytes have come and wait for the rate limit; known at each measurement.
    package var heldBack: Set<SegmentID> = []
    /// Whether a rate limit may make it slower than the network. Then no connection is dropped for
    /// its speed.
    package var isRateLimited = false
    /// Whether the host asked for a pause; known at each end of a fetch, each tick and each slot.
    package var isHostPaused = false
    /// The health of the host; known at each end of a fetch.
    package var hostHealth = HostHealth()

    package init() {}
  }

  /// What is on disk when the name is known.
  package struct Found: Sendable {
    /// What an earlier run left.
    package var recovered: Recovered?
    /// The name of the file, without a number; nil for a stream.
    package var fileName: String?
    /// Existing files that may be the requested one.
    package var existing: [ExistingFile]
    /// Whether it is a name conflict if the resource is none of them.
    package var needsExisting: Bool
    /// Whether a cache must ask the server before it answers: an existing file will be replaced
    /// that is not in `existing`.
    package var needsConfirmation: Bool

    package init(
      _ recovered: Recovered? = nil, fileName: String? = nil, existing: [ExistingFile] = [],
      needsExisting: Bool = false, needsConfirmation: Bool = false
    ) {
      self.recovered = recovered
      self.fileName = fileName
      self.existing = existing
      self.needsExisting = needsExisting
      self.needsConfirmation = needsConfirmation
    }
  }

  /// What an earlier run left, and what is known of its source.
  package struct Recovered: Sendable, Hashable {
    package var version: Version
    /// Whether the address is the one that the bytes came from, apart from known signing
    /// parameters.
    package var isSameAddress: Bool
    /// Whether the tokens are equal too; if not, bytes are compared before they are used.
    package var hasSameTokens: Bool
    /// Whether its bytes may be of several versions; then only a digest of the whole file proves
    /// them.
    package var mayMixVersions: Bool
    /// Ranges to compare with the server's bytes; empty if a comparison is not needed or possible.
    package var comparisonRanges: [ByteRange]
    /// Where redirects led at that time, if known.
    package var location: ResourceURL?
    /// The bytes on disk.
    package var received: ByteRangeSet

    package init(
      version: Version, isSameAddress: Bool = true, hasSameTokens: Bool = true,
      mayMixVersions: Bool = false,
      comparisonRanges: [ByteRange] = [], location: ResourceURL? = nil,
      received: ByteRangeSet = ByteRangeSet()
    ) {
      self.version = version
      self.isSameAddress = isSameAddress
      self.hasSameTokens = hasSameTokens
      self.mayMixVersions = mayMixVersions
      self.comparisonRanges = comparisonRanges
      self.location = location
      self.received = received
    }
  }
}

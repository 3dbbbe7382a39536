extension DownloadMachine {
  package indirect enum Command: Sendable, Hashable {
    case open(SegmentID, FetchRequest)
    /// Find the file by the name in this response; `bound` follows, before anything else.
    case bind(SegmentID)
    /// Write the body of this response; `newVersion` starts a new journal generation with its first
    /// byte.
    case receive(SegmentID, ResponseBody, newVersion: Version?)
    /// Compare the body of this response with the bytes on disk.
    case compare(SegmentID, ByteRange)
    /// Record that nothing proves later bytes to be of the same version as earlier ones.
    case noteMixedVersions
    /// Close this response without reading it.
    case drop(SegmentID)
    /// Stop a fetch; `stopped`, `ended` or `failed` follows.
    case stop(SegmentID)
    /// Start the journal of an empty resource.
    case begin(Version)
    case requestConnection
    case releaseConnection
    case wake(Timer, after: Duration)
    case releaseSlot
    case requestSlot
    /// The host refused this connection while others are open: those are its limit.
    case limitHost(TransferError)
    /// An additional connection got something else than its bytes: no more are opened.
    case refusedAdditional(TransferError)
    /// This number of connections was chosen, and why there are not more.
    case connectionsChosen(ConnectionChoice)
    /// A lost connection is reopened at once.
    case resume(TransferError)
    case pauseHost(Duration)
    /// The host did not answer: no transfer asks it for this long, then one at a time; nil if its
    /// transfers do not wait for each other.
    case hostFailed(nextTrial: Duration?)
    /// Check the whole file: that it has these digests, and is not this page.
    case verify([Checksum], orPage: MisplacedPage?)
    case publish(Version)
    case phase(TransferEvent.Phase, reason: String?)
    case attempt(Int, TransferError, delay: Duration)
    case finish(End)
  }

  package enum Timer: Sendable, Hashable { case retry, confirm }

  package enum End: Sendable, Hashable {
    case completed(TransferResult.Verification)
    /// That file is the requested one.
    case alreadyExists(ExistingFile)
    case paused
    case failed(TransferError)
  }
}

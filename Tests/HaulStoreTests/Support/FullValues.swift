import HaulCore
import Testing

func sampleStoredState(rank: Int64) -> StoredState {
  var storedState = StoredState()
  storedState.status = .paused
  storedState.desired = .cancelled
  storedState.rank = rank
  storedState.priority = .userInteractive
  storedState.pausedBy = .network
  storedState.restartsFromZero = true
  storedState.hasRun = true
  storedState.wasRunning = true
  storedState.waitReason = .retry(at: 1_800_000_000.25)
  storedState.startRequest = StartRequest(number: 1 << 40, isForced: true)
  return storedState
}

private func digest(_ text: String) throws -> Checksum {
  let checksum = Checksum(text)
  return try #require(checksum)
}

/// A download in which every field differs from the default.
func fullDownload() throws -> DownloadRequest {
  let address = "https://user%40x:pass%00word@example.com:8443/a%20b/%C3%BC?token=canary&x"
  var download = DownloadRequest(url: try ResourceURL(address), to: .file("/a/b \u{0} c"))
  download.createsDirectories = true
  download.ifExists = .overwrite
  download.durability = .relaxed
  download.checksums = [
    try digest("crc32c=0123abcd"), try digest("md5=" + String(repeating: "0", count: 32)),
  ]
  download.headers = [("Authorization", "Bearer \u{e4}"), ("X-A", ""), ("x-a", "2")]
  download.connections = 3
  download.minimumSplit = 1 << 40
  download.rateLimit = 12_345
  download.maximumSize = .max
  download.usesSuggestedName = true
  download.startOver = true
  download.allowUnverified = true
  download.resumesFromOtherURL = true
  download.decodesContent = true
  download.allowInsecure = true
  download.creationMask = 0o027
  (download.roots, download.region, download.hasFieldsOfClient) = (["/d"], "r", true)
  download.hasNoRanges = true
  download.keySource = S3KeySource(.container, region: "r")
  download.bearerFile = "/token"
  download.trustedRedirectHosts = ["b.example", "a.example"]
  download.retry.retries = 0
  download.retry.maximumTimeWithoutProgress = .seconds(5) + .nanoseconds(1)
  return download
}

/// A request in which every field differs from the default.
func fullRequest(after: [TransferID]) throws -> TransferRequest {
  var request = TransferRequest(.download(try fullDownload()))
  request.identifier = "mine"
  request.group = "group"
  request.priority = .background
  request.after = after + ["other"]
  request.whenDependencyFails = .run
  request.reportsProgress = false
  request.userInfo = ["view": "3 \u{e4}"]
  request.startSeconds = 1_900_000_000.5
  request.repetition = Repetition("12h from 1900000000.5")
  return request
}

func fullError() -> TransferError {
  TransferError(
    .rateLimited, "asked to wait", advice: "wait", status: 429, isRetryable: true,
    retryAfter: .seconds(30) + .microseconds(7))
}

func fullResult() throws -> TransferResult {
  TransferResult(
    state: .failed, path: "/p", bytes: 1, fetched: 2, reused: 3, duration: .milliseconds(4),
    checksums: [try digest("md5=00112233445566778899aabbccddeeff")], verified: .framing,
    coding: "gzip", error: fullError(),
    metrics: TransferMetrics(timeToFirstResponse: .microseconds(1234), requests: 9, retries: 2)
  ).notingAdoption().notingUnchanged().noting(kept: "k")
}

/// One event of each stored kind, in all its forms.
func allKinds() throws -> [TransferEvent.Kind] {
  var kinds: [TransferEvent.Kind] = [.added(target: nil), .added(target: "t \u{0}")]
  let origins: [TransferEvent.Initiator] = [.user, .signal, .disk, .network]
  kinds += origins.flatMap { [.paused(by: $0), .resumed(by: $0)] }
  kinds += [.finished(try fullResult()), .finished(TransferResult(state: .cancelled)), .moved]
  kinds.append(.removed)
  return kinds
}

/// One event of each kind that is no state change, without `snapshot`.
func unstoredKinds() -> [TransferEvent.Kind] {
  [
    .phase(.connecting, reason: nil), .target("t", reason: nil), .waiting(.offline),
    .attempt(number: 3, error: fullError(), delay: .milliseconds(1500)),
    .limited(connections: 2, error: fullError()),
    .connections(ConnectionChoice(7, .refused, rate: nil)),
    .progress(TransferProgress(bytes: 1, total: 2, rate: 3, connections: 4)),
  ]
}

/// The name of a kind; a new one does not compile until it is here and in one of the lists above.
func name(_ kind: TransferEvent.Kind) -> String {
  switch kind {
  case .added: "added"
  case .target: "target"
  case .phase: "phase"
  case .waiting: "waiting"
  case .paused: "paused"
  case .resumed: "resumed"
  case .progress: "progress"
  case .attempt: "attempt"
  case .limited: "limited"
  case .connections: "connections"
  case .finished: "finished"
  case .moved: "moved"
  case .removed: "removed"
  case .snapshot: "snapshot"
  }
}

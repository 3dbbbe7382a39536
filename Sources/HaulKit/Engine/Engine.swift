package import HaulCore
import Logging
import NIOConcurrencyHelpers

/// What all drivers share: the ports and counters of a manager. A class, because each copy of a
/// value would retain some twenty references that all threads share.
package final class Engine: Sendable {
  package let transport: any Transport
  package let disk: any Disk
  package let io: BlockingIO
  package let clock: any TransferClock
  package let throttle: Throttle
  package let idleTimeout: Duration
  package let network: any NetworkState
  /// Whether a person watches its transfers.
  let isAttended: Bool
  let waitsForDisk: Bool
  let waitsForNetwork: Bool
  let waitsForCredentials: Bool
  /// Reads the file of a token.
  let bearerField: (@Sendable (String) throws(TransferError) -> String?)?
  /// What hosts say of credentials.
  let credentials = NIOLockedValueBox(CredentialState())
  /// The initial schedule; nil for always.
  let localSchedule: LocalSchedule?
  /// The present schedule; nil for always.
  let schedule: NIOLockedValueBox<Schedule?>
  /// As given: what may change is elsewhere.
  let configuration: TransferManager.Configuration
  /// The registered closures, by the names of their steps.
  let steps = NIOLockedValueBox<[String: StepClosure]>([:])
  /// File systems without room for any file.
  let fullDevices = NIOLockedValueBox<Set<UInt64>>([])
  package let hooks: Hooks
  /// Runs programs; nil where programs are not supported.
  let programs: (any Programs)?
  /// Where the addresses of unfinished uploads are stored; nil for only in `uploadRecords`.
  let uploadDirectory: String?
  /// The place of a store that has their records too; nil for none.
  let recordPlace: UploadRequest?
  /// Whether a remote source goes to a store on a condition alone.
  let requiresConditions: Bool
  /// Unfinished uploads that are not stored.
  let uploadRecords = NIOLockedValueBox<[TransferID: UploadRecord]>([:])
  /// What servers have refused of uploads that were then complete without it.
  let storeRefusals = NIOLockedValueBox<[ResourceURL.Origin: StoreRefusals]>([:])
  /// The keys of roles, for uploads to S3 stores.
  let s3Keys: S3KeyCache
  /// The bytes of uploads without a file, until they are read.
  let uploadStreams = NIOLockedValueBox<[UInt64: UploadStream]>([:])
  /// The most bytes of a stream that are buffered for its reader.
  let streamWindow: Int64
  let httpVersion: TransferManager.Configuration.HTTPVersion
  let proxies: ProxyRules
  /// Returns header fields to send with each request; nil for none.
  let prepare: RequestPreparation?
  let hub: EventHub
  let heartbeat: Heartbeat
  let groupPublisher: GroupPublisher
  private let http2Origins: HTTP2Origins
  /// The threads of transfers; empty for the global executor.
  package let executors: [any TaskExecutor]
  /// The thread of everything else, so that one thread decides the order; nil for the global
  /// executor.
  let soleExecutor: (any TaskExecutor)?
  /// Forgets what the transport keeps for a transfer that has ended.
  let endSession: @Sendable (TransferID) -> Void
  let scheduler: LockedScheduler
  let targets = TargetReservations()
  let random: SharedRandom
  let logger: Logger
  /// What happens to the queue; the newest are kept until they are read.
  let notes: AsyncStream<QueueNote>
  private let noteContinuation: AsyncStream<QueueNote>.Continuation

  package init(
    transport: any Transport, disk: any Disk, io: BlockingIO, clock: any TransferClock,
    configuration: TransferManager.Configuration, seed: UInt64? = nil, hooks: Hooks = Hooks(),
    executors: [any TaskExecutor] = [], soleExecutor: (any TaskExecutor)? = nil,
    network: any NetworkState = UnknownNetwork(), programs: (any Programs)? = nil,
    localSchedule: LocalSchedule? = nil,
    endSession: @escaping @Sendable (TransferID) -> Void = { _ in }
  ) {
    self.endSession = endSession
    self.network = network
    self.localSchedule = localSchedule
    schedule = NIOLockedValueBox(localSchedule?.schedule)
    self.configuration = configuration
    isAttended = configuration.isAttended
    waitsForDisk = configuration.waitsForDisk
    waitsForNetwork = configuration.waitsForNetwork
    waitsForCredentials = configuration.waitsForCredentials
    bearerField = configuration.bearerField
    self.programs = programs
    self.executors = soleExecutor.map { [$0] } ?? executors
    self.soleExecutor = soleExecutor
    self.transport = transport
    self.disk = disk
    self.io = io
    self.clock = clock
    self.hooks = hooks
    throttle = Throttle(rate: configuration.rateLimit, clock: clock)
    idleTimeout = configuration.idleTimeout
    httpVersion = configuration.httpVersion
    proxies = configuration.proxies
    prepare = configuration.prepare
    streamWindow = configuration.streamWindow
    (uploadDirectory, recordPlace) = (configuration.uploadDirectory, configuration.recordPlace)
    requiresConditions = configuration.requiresConditions
    hub = EventHub(limit: configuration.eventLogLimit)
    heartbeat = Heartbeat(clock: clock, executor: soleExecutor)
    groupPublisher = GroupPublisher(io: io)
    http2Origins = HTTP2Origins()
    scheduler = LockedScheduler(configuration)
    random = SharedRandom(seed: seed)
    logger = configuration.logger
    (notes, noteContinuation) = AsyncStream.makeStream(
      of: QueueNote.self, bufferingPolicy: .bufferingNewest(64))
    let asker = S3KeyAsker(
      transport: transport, programs: programs, io: io, clock: clock,
      access: configuration.keyAccess)
    s3Keys = S3KeyCache(clock: clock) { try await asker.keys(of: $0) }
  }

  /// Waits until some of `bytes` may pass, and returns how many; a shared limit is divided by
  /// priority.
  /// - Throws: `CancellationError`.
  func take(upTo bytes: Int, for id: TransferID) async throws -> Int {
    guard throttle.isLimited else { return bytes }
    let priority = scheduler.update { $0.priority(of: id) }
    return try await throttle.take(upTo: bytes, for: id, priority: priority ?? .default)
  }

  /// Whether the first request of a transfer may share a connection, so that many files of one host
  /// need only one.
  func sharesConnections(to origin: ResourceURL.Origin) -> Bool {
    switch httpVersion {
    case .http1: false
    case .http2: true
    case .automatic:
      scheduler.update { $0.transfers(of: origin.authority) } > 1
        || http2Origins.isOpen(to: origin, at: clock.now)
    }
  }

  /// Notes the answer of an origin.
  func note(_ head: ResponseHead) {
    if head.version == "HTTP/2" { http2Origins.answered(head.url.origin, at: clock.now) }
  }

  /// The executor of a transfer. Transfers that may share a connection share a thread; others are
  /// spread.
  func executor(for id: TransferID, of origin: ResourceURL.Origin) -> (any TaskExecutor)? {
    guard !executors.isEmpty else { return nil }
    let mayShare = origin.scheme == "https" && sharesConnections(to: origin)
    let hash = mayShare ? origin.hashValue : id.hashValue
    return executors[Int(UInt(bitPattern: hash) % UInt(executors.count))]
  }

  func note(_ note: QueueNote) {
    logger.info("\(TerminalText.escaped(note.text))")
    noteContinuation.yield(note)
  }

  /// Notes which hosts have stopped or begun to answer.
  func noteHosts() {
    for note in scheduler.update({ $0.takeNotes() }) { self.note(note) }
  }

  func log(_ error: TransferError) {
    logger.error("\(error.message)", metadata: ["code": "\(error.code.rawValue)"])
  }
}

/// The only source of randomness of an engine: the system's, or a seeded one (SplitMix64) that
/// makes runs repeatable.
struct SharedRandom: RandomNumberGenerator, Sendable {
  private let seeded: NIOLockedValueBox<SplitMix64>?

  init(seed: UInt64?) { seeded = seed.map { NIOLockedValueBox(SplitMix64(seed: $0)) } }

  func next() -> UInt64 {
    if let seeded { return seeded.withLockedValue { $0.next() } }
    var system = SystemRandomNumberGenerator()
    return system.next()
  }

  func bytes(_ count: Int) -> [UInt8] {
    // Eight bytes from each number, because each may cost a system call.
    var number: UInt64 = 0
    return (0..<count).map { index in
      if index.isMultiple(of: 8) { number = next() }
      defer { number >>= 8 }
      return UInt8(truncatingIfNeeded: number)
    }
  }
}

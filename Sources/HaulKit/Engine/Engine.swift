package import HaulCore
package import HaulFiles
import Logging
import NIOConcurrencyHelpers

/// What every driver shares: the ports and the counters of a manager. A class, as to copy a value
/// would count some twenty references, which all threads share, with every piece of work.
package final class Engine: Sendable {
  package let transport: any Transport
  package let disk: any Disk
  package let io: BlockingIO
  package let clock: any TransferClock
  package let throttle: Throttle
  package let idleTimeout: Duration
  package let network: any NetworkState
  /// Whether a person waits for its transfers.
  let isAttended: Bool
  let waitsForDisk: Bool
  let waitsForNetwork: Bool
  /// When transfers run, at first; nil for always.
  let hours: LocalSchedule?
  /// File systems that have no room for anybody.
  let fullDevices = NIOLockedValueBox<Set<UInt64>>([])
  package let hooks: Hooks
  /// Runs programs of this machine; nil where none may run.
  let programs: (any Programs)?
  /// The most bytes of a stream that wait for its reader.
  let streamWindow: Int64
  let httpVersion: TransferManager.Configuration.HTTPVersion
  /// Gives header fields to send with each request; nil where nobody does.
  let prepare: RequestPreparation?
  let hub: EventHub
  let heartbeat: Heartbeat
  let commits: GroupPublish
  private let sharing: HTTP2Origins
  /// Threads that transfers are spread over; empty for the common ones.
  package let executors: [any TaskExecutor]
  /// Where everything else runs as well, so that one thread decides what comes when; nil for the
  /// common threads.
  let soleExecutor: (any TaskExecutor)?
  let slots: LockedScheduler
  let targets = TargetReservations()
  let random: SharedRandom
  let logger: Logger

  package init(
    transport: any Transport, disk: any Disk, io: BlockingIO, clock: any TransferClock,
    configuration: TransferManager.Configuration, seed: UInt64? = nil, hooks: Hooks = Hooks(),
    executors: [any TaskExecutor] = [], soleExecutor: (any TaskExecutor)? = nil,
    network: any NetworkState = UnknownNetwork(), programs: (any Programs)? = nil,
    hours: LocalSchedule? = nil
  ) {
    self.network = network
    self.hours = hours
    isAttended = configuration.isAttended
    waitsForDisk = configuration.waitsForDisk
    waitsForNetwork = configuration.waitsForNetwork
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
    prepare = configuration.prepare
    streamWindow = configuration.streamWindow
    hub = EventHub(limit: configuration.keptEvents)
    heartbeat = Heartbeat(clock: clock, executor: soleExecutor)
    commits = GroupPublish(io: io)
    sharing = HTTP2Origins()
    slots = LockedScheduler(configuration)
    random = SharedRandom(seed: seed)
    logger = configuration.logger
  }

  /// Waits until some of `bytes` of a transfer may pass, and says how many: of a shared limit it
  /// has its priority's share.
  /// - Throws: `CancellationError`.
  func take(upTo bytes: Int, for id: TransferID) async throws -> Int {
    guard throttle.isLimited else { return bytes }
    let priority = slots.update { $0.priority(of: id) }
    return try await throttle.take(upTo: bytes, for: id, priority: priority ?? .default)
  }

  /// Whether the first request of a transfer may be a stream among others: many files of one host
  /// then need one connection.
  func sharesConnections(to origin: ResourceURL.Origin) -> Bool {
    switch httpVersion {
    case .http1: false
    case .http2: true
    case .automatic:
      slots.update { $0.transfers(of: origin.authority) } > 1
        || sharing.isOpen(to: origin, at: clock.now)
    }
  }

  /// Notes what an origin answered with.
  func note(_ head: ResponseHead) {
    if head.version == "HTTP/2" { sharing.answered(head.url.origin, at: clock.now) }
  }

  /// Where a transfer runs. Those that may share one connection share the thread of it too; others
  /// are spread.
  func executor(for id: TransferID, of origin: ResourceURL.Origin) -> (any TaskExecutor)? {
    guard !executors.isEmpty else { return nil }
    let mayShare = origin.scheme == "https" && sharesConnections(to: origin)
    let hash = mayShare ? origin.hashValue : id.hashValue
    return executors[Int(UInt(bitPattern: hash) % UInt(executors.count))]
  }

  func log(_ error: TransferError) {
    logger.error("\(error.message)", metadata: ["code": "\(error.code.rawValue)"])
  }
}

/// The one source of randomness of an engine: the system's, or a seeded one (SplitMix64) that gives
/// the same run again.
struct SharedRandom: RandomNumberGenerator, Sendable {
  private let state: NIOLockedValueBox<UInt64>?

  init(seed: UInt64?) { state = seed.map { NIOLockedValueBox($0) } }

  func next() -> UInt64 {
    guard let state else {
      var system = SystemRandomNumberGenerator()
      return system.next()
    }
    let value = state.withLockedValue { state in
      state &+= 0x9E37_79B9_7F4A_7C15
      return state
    }
    var mixed = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  func bytes(_ count: Int) -> [UInt8] {
    // Eight of a number: each may cost a call of the system.
    var number: UInt64 = 0
    return (0..<count).map { place in
      if place.isMultiple(of: 8) { number = next() }
      defer { number >>= 8 }
      return UInt8(truncatingIfNeeded: number)
    }
  }
}

import HaulCore
import HaulFiles
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers

/// A queue and everything around it, created from a seed: the production manager, drivers and
/// machines over simulated time, disk, network and store, on one thread.
final class QueueWorld {
  /// The parameters of a world, from a seed or a test.
  struct Plan {
    var steps = 24
    var members = 8
    var hasFaults = true
    var crashes = true
  }

  let plan: Plan
  let ledger: SharedLedger
  let servers = SimulatedTransport.Servers()
  let machine: SimulatedMachine
  let memory = MemoryStore()
  /// The most members that one change of a command stores.
  let portionSize: Int
  let executor: SeededExecutor
  var random: SimulationRandom
  /// Decides when the disk is full and the network away; nil in a world without that.
  var faults: SimulationRandom?
  /// Decides when the week is open and the clock is set; nil in a world without a schedule.
  var times: SimulationRandom?
  /// Gives start times to new members; nil in most worlds.
  var starts: SimulationRandom?
  /// Makes some downloads uploads; nil in most worlds.
  var uploads: SimulationRandom?
  var configuration = TransferManager.Configuration()
  var process: SimulatedProcess
  var subscribers: [SimulatedSubscriber] = []
  var subscribed = 0
  /// Whether the power was ever cut.
  var hasLostPower = false
  /// Completed members whose files were checked since the last crash.
  var seen: Set<TransferID> = []
  /// How often the world was checked while it was at rest.
  private(set) var checks = 0
  var added = 0
  var isSuspended = false
  var isHarmless = false
  let stepPlans = NIOLockedValueBox<[String: StepPlan]>([:])
  /// Additions with a key, to repeat the same call.
  var keyed: [(key: String, requests: [TransferRequest])] = []

  static let directory = "/d"
  static let wallStart = 1_795_219_200.0

  init(seed: UInt64, plan: Plan = Plan()) {
    random = SimulationRandom(seed: seed)
    var faults = SimulationRandom(seed: ~seed)
    self.faults = faults.oneIn(Self.faultyOneIn) ? faults : nil
    var times = SimulationRandom(seed: ~seed &* 0x9E37_79B9_7F4A_7C15)
    self.times = times.oneIn(Self.timedOneIn) ? times : nil
    var starts = SimulationRandom(seed: seed &* 0xD1B5_4A32_D192_ED03)
    self.starts = starts.oneIn(Self.startsOneIn) ? starts : nil
    var uploads = SimulationRandom(seed: seed &* 0xA24B_AED4_963E_E407)
    self.uploads = uploads.oneIn(Self.uploadsOneIn) ? uploads : nil
    self.plan = plan
    executor = SeededExecutor(seed: random.next())
    machine = SimulatedMachine(seed: random.next())
    let limits = Self.limits(&random)
    portionSize = random.oneIn(2) ? 1 + random.below(3) : QueueCoordinator.portionSize
    ledger = SharedLedger(Ledger(limits))
    if self.times != nil { ledger.withLockedValue { $0.schedule = SimulatedSchedule() } }
    configuration.maximumActive = limits.active
    configuration.maximumActivePerHost = limits.activePerHost
    configuration.connectionsPerHost = limits.connectionsPerHost
    configuration.maximumConnections = limits.connections
    configuration.idleTimeout = .milliseconds(1500)
    configuration.httpVersion = .http1
    configuration.uploadDirectory = "/u"
    process = Self.process(
      configuration, random.next(), memory, machine, servers, executor, ledger, portionSize,
      wallStart: Self.wallStart)
    reset()
  }

  private static func limits(_ random: inout SimulationRandom) -> Ledger.Limits {
    var limits = Ledger.Limits()
    limits.active = 1 + random.below(3)
    limits.activePerHost = 1 + random.below(2)
    limits.connectionsPerHost = 1 + random.below(4)
    limits.connections = limits.active + random.below(4)
    (limits.formerActive, limits.formerPerHost) = (limits.active, limits.activePerHost)
    return limits
  }

  private static func process(
    _ configuration: TransferManager.Configuration, _ seed: UInt64, _ memory: MemoryStore,
    _ machine: SimulatedMachine, _ servers: SimulatedTransport.Servers, _ executor: SeededExecutor,
    _ ledger: SharedLedger, _ portionSize: Int, wallStart: Double
  ) -> SimulatedProcess {
    SimulatedProcess(
      configuration, seed: seed, memory: memory, machine: machine, servers: servers,
      executor: executor, ledger: ledger, wallStart: wallStart, portionSize: portionSize)
  }

  var manager: TransferManager { process.manager }
  var isBroken: Bool { ledger.withLockedValue { !$0.violations.isEmpty } }

  /// Runs everything; returns the trace and the violations.
  func run() throws -> (trace: [String], violations: [String]) {
    open()
    for _ in 0..<plan.steps where !isBroken { try step() }
    if !isBroken { finish() }
    if executor.foreignJobs > 0 {
      ledger.withLockedValue { $0.violate("\(executor.foreignJobs) jobs came from other threads") }
    }
    return ledger.withLockedValue { ($0.trace, $0.violations) }
  }

  /// Opens the store with the present manager.
  func open() {
    ledger.withLockedValue { $0.isOpening = true }
    subscribe(isSlow: false)
    if random.oneIn(2) { subscribe(isSlow: true) }
    let (process, ledger, plans) = (process, ledger, stepPlans)
    let isOpen = NIOLockedValueBox(false)
    process.start {
      process.manager.register(step: "work") { context in
        try await Self.work(context, process, ledger, plans)
      }
      do {
        try await process.manager.coordinator.open()
      } catch {
        if !process.isDead { ledger.withLockedValue { $0.violate("open threw \(error)") } }
      }
      isOpen.withLockedValue { $0 = true }
    }
    // Commands may be sent only after that.
    while !isOpen.withLockedValue({ $0 }) { guard passTime(.seconds(1)) else { break } }
    ledger.withLockedValue { $0.isOpening = false }
    reset()
  }

  /// Sets the faults of the world from now on.
  func reset() {
    var behaviours = SimulatedTransport.Behaviours()
    behaviours.begins = random.oneIn(2)
    var store = SimulatedStore.Behaviours()
    var disk = SimulatedFaults()
    if plan.hasFaults, !isHarmless {
      behaviours.faultOneIn = random.oneIn(2) ? 3 + random.below(10) : nil
      store.refusesOneIn = random.oneIn(4) ? 5 + random.below(20) : nil
      store.isSlow = random.oneIn(2)
      disk.shortWrites = random.oneIn(3)
      disk.syncFailsOneIn = random.oneIn(8) ? 6 : nil
    }
    servers.behaviours = behaviours
    process.store.behaviours = store
    machine.setFaults(disk)
    causeFault()
  }

  func subscribe(isSlow: Bool) {
    subscribed += 1
    let subscriber = SimulatedSubscriber(number: subscribed, isSlow: isSlow, ledger: ledger)
    subscribers.append(subscriber)
    let (events, process) = (manager.events(), process)
    process.start { await subscriber.read(events, process) }
  }

  /// Runs everything that can run, while time passes up to so much; false if the process has died.
  @discardableResult
  func passTime(_ time: Duration) -> Bool {
    let end = process.clock.now + time
    while true {
      guard process.settle() else {
        ledger.withLockedValue { $0.violate("the world comes to no rest") }
        return false
      }
      if process.isDead || isBroken { return false }
      guard process.clock.wakeNext(by: end) else { return true }
    }
  }

  /// Runs until nothing can happen before time passes and the store has answered; then checks
  /// everything.
  func rest() {
    guard passTime(.zero) else { return }
    for _ in 0..<200 where process.store.isBusy {
      guard passTime(.milliseconds(10)) else { return }
    }
    check()
  }

  private func check() {
    let now = process.clock.now
    let isCalm = ledger.withLockedValue { ledger in
      ledger.orders.isEmpty && ledger.calls.isEmpty && now >= ledger.troubledUntil
    }
    guard isCalm else { return }
    let found = NIOLockedValueBox<[TransferSummary]?>(nil)
    process.start { [manager] in
      let summaries = await manager.summaries()
      found.withLockedValue { $0 = summaries }
    }
    guard process.settle(), !process.isDead, !process.store.isBusy,
      let live = found.withLockedValue({ $0 })
    else { return }
    checks += 1
    let isSuspended = isSuspended
    let wall = process.clock.wallSeconds
    ledger.withLockedValue {
      $0.checkAtRest(live, isSuspended: isSuspended, at: now, wallSeconds: wall)
    }
    for subscriber in subscribers where !subscriber.isSlow { subscriber.checkComplete() }
    checkFiles()
  }

  /// The process dies, and another opens the store.
  func crash(_ isPowerLoss: Bool) {
    ledger.withLockedValue { $0.crashed(isPowerLoss ? "power" : "kill") }
    process.die()
    subscribers = []
    if isPowerLoss { machine.losePower() } else { machine.killProcesses() }
    hasLostPower = hasLostPower || isPowerLoss
    machine.crash(afterChanges: nil)
    if !process.drain() {
      ledger.withLockedValue { $0.violate("what a dead process had begun has no end") }
    }
    isSuspended = false
    seen = []
    let limits = ledger.withLockedValue { $0.limits }
    configuration.maximumActive = limits.active
    configuration.maximumActivePerHost = limits.activePerHost
    // The wall clock continues, because times of next attempts are stored by it.
    process = Self.process(
      configuration, random.next(), memory, machine, servers, executor, ledger, portionSize,
      wallStart: process.clock.wallSeconds)
    open()
  }
}

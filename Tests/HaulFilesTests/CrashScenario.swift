import HaulCore
import HaulFiles
import HaulTesting

/// One random life of a download over a simulated disk: runs that write, claim, sync and publish.
/// Each ends by death or power loss anywhere, and the invariants are checked after each.
struct CrashScenario {
  typealias Wrap = @Sendable (any Disk) -> any Disk

  static let path = "/downloads"
  static let target = "file.iso"
  /// The target, and the names to try if it is taken.
  static let names = [target] + (1...8).map { "\(target) (\($0))" }
  /// Random bytes from which every schedule takes its content.
  static let pool = sampleBytes(1 << 17, seed: 7)

  let strict: Bool
  let content: [UInt8]
  let foreign: [UInt8]
  let machine: SimulatedMachine
  let wrap: Wrap
  let baseFaults: SimulatedFaults
  var random: SimulationRandom

  /// The bytes that a finished checkpoint has made durable.
  var durable = ByteRangeSet()
  var foreignIsThere = false
  /// The name under which the file was published, once `publish` returned.
  var completedAs: String?
  var lostPower = false
  var isFaulty = true
  var violations: [String] = []

  init(seed: UInt64, strict: Bool, wrap: @escaping Wrap = { $0 }) {
    random = SimulationRandom(seed: seed)
    let length = random.oneIn(20) ? 0 : 1 + random.below(12_000)
    let start = random.below(Self.pool.count - length)
    content = Array(Self.pool[start..<(start + length)])
    foreign = Array(Self.pool.prefix(100 + random.below(3_000)))
    var faults = SimulatedFaults()
    faults.shortWrites = random.oneIn(2)
    faults.supportsRenameWithoutReplacing = !random.oneIn(4)
    faults.supportsLinks = !random.oneIn(3)
    faults.supportsAllocation = !random.oneIn(4)
    faults.supportsAttributes = !random.oneIn(4)
    baseFaults = faults
    machine = SimulatedMachine(seed: random.next(), faults: faults)
    self.strict = strict
    self.wrap = wrap
  }

  /// Runs it to its end; returns the violations.
  static func violations(seed: UInt64, strict: Bool, wrap: @escaping Wrap = { $0 }) -> [String] {
    var scenario = CrashScenario(seed: seed, strict: strict, wrap: wrap)
    scenario.run()
    return scenario.violations
  }

  mutating func run() {
    for _ in 0..<(1 + random.below(6)) {
      live(faulty: true)
      end()
      if completedAs != nil || !violations.isEmpty { return }
      // Relaxed promises nothing about names after a power cut.
      if !strict, lostPower { return checkCounted() }
    }
    live(faulty: false)
    machine.killProcesses()
    if completedAs == nil { fail("liveness: a run without faults did not complete") }
    check()
  }

  /// One process, from its start to its death or its end.
  private mutating func live(faulty: Bool) {
    isFaulty = faulty
    var faults = baseFaults
    if faulty {
      if random.oneIn(4) { faults.syncFailsOneIn = 2 + random.below(6) }
      if random.oneIn(6) { faults.capacity = content.count + random.below(3_000) }
      if random.oneIn(6), !foreignIsThere, !isThere { plantForeign() }
    }
    machine.setFaults(faults)
    machine.crash(afterChanges: faulty && !random.oneIn(5) ? 1 + random.below(90) : nil)
    let process = machine.startProcess()
    // After a fault that the process survives, the same process tries again.
    for _ in 0..<3 where process.isAlive && completedAs == nil {
      do { try attempt(process) } catch {
        if !faulty, !movesStrangePart(after: error) { fail("without faults: \(error)") }
      }
    }
  }

  /// Where files have no attributes, a power cut may leave a part file that is not known to be
  /// Haul's. It is refused, and the user moves it away.
  private func movesStrangePart(after error: any Error) -> Bool {
    guard !baseFaults.supportsAttributes, lostPower,
      (error as? TransferError)?.code == .nameConflict
    else { return false }
    let directory = try? machine.startProcess().openDirectory(Self.path, creating: false)
    return (try? directory?.unlink(Self.target + ".haul.part")) != nil
  }

  private var isThere: Bool {
    machine.names(in: Self.path).contains { $0 == Self.target }
  }

  private mutating func plantForeign() {
    machine.plant(foreign, as: Self.target, in: Self.path)
    foreignIsThere = true
  }

  private mutating func attempt(_ process: SimulatedDisk) throws {
    let disk = wrap(process)
    let directory = try disk.openDirectory(Self.path, creating: true)
    if let name = finishedWithoutJournal() {
      completedAs = name
      return
    }
    let nonce = (0..<16).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    let part = try PartFile.acquire(
      disk: disk, directory: directory, name: Self.target, nonce: nonce,
      durability: strict ? .strict : .relaxed,
      deferringJournalUpTo: Int64(random.below(2) * random.below(20_000)))
    defer { part.release() }
    checkRecovery(part.recovery)
    if let name = part.recovery.publishedName {
      completedAs = name
      return
    }
    if part.recovery.head == nil || random.oneIn(12) {
      durable = ByteRangeSet()
      try part.begin(
        try sampleHead(random.oneIn(3) ? nil : Int64(content.count)),
        reserving: Int64(random.below(4_000)))
    }
    try fill(part)
    try publish(part)
  }

  /// A run that ended between the removal of its journal and its own end.
  private func finishedWithoutJournal() -> String? {
    guard !machine.names(in: Self.path).contains(Self.target + ".haul.journal") else { return nil }
    return Self.names.first {
      machine.contents(of: $0, in: Self.path) == content
    }
  }

  private mutating func fill(_ part: PartFile) throws {
    var clock = Instant()
    while true {
      let gaps = part.received.gaps(in: 0..<Int64(content.count))
      guard !gaps.isEmpty else { return }
      let gap = gaps.ranges[random.below(gaps.ranges.count)]
      let start = gap.lowerBound + Int64(random.oneIn(2) ? 0 : random.below(Int(gap.length)))
      var writer = try part.writer(at: start, now: clock)
      for _ in 0..<(1 + random.below(4)) where writer.offset < gap.upperBound {
        let length = min(gap.upperBound - writer.offset, Int64(1 + random.below(3_000)))
        let bytes = content[Int(writer.offset)..<Int(writer.offset + length)]
        let middle = bytes.startIndex + random.below(bytes.count)
        clock = clock + .milliseconds(random.below(200))
        try part.write(
          [Array(bytes[..<middle]), Array(bytes[middle...])], with: &writer, now: clock)
      }
      if random.oneIn(2) { try part.claim(&writer) }
      if random.oneIn(2) { try checkpoint(part) }
      if isFaulty, random.oneIn(25) { throw Paused() }
    }
  }

  /// A run that ends by itself.
  private struct Paused: Error {}

  private mutating func checkpoint(_ part: PartFile) throws {
    try part.checkpoint(isLast: random.oneIn(3))
    durable = part.claimed
  }

  private mutating func publish(_ part: PartFile) throws {
    for name in Self.names {
      do {
        try part.publish(
          as: name, length: Int64(content.count), modified: 1_000, replacing: false)
        completedAs = name
        return
      } catch {
        guard error.code == .nameConflict else { throw error }
        if !foreignIsThere, !usesPlaceholders { fail("name-conflict without a foreign file") }
      }
    }
  }
}

/// The invariants.
extension CrashScenario {
  mutating func fail(_ violation: String) { violations.append(violation) }

  /// Ends a process: it dies, or the machine loses power.
  mutating func end() {
    if random.oneIn(2) {
      machine.losePower()
      lostPower = true
      if strict { checkDurableRecords() }
    } else {
      machine.killProcesses()
    }
    check()
  }

  /// I1: only bytes on disk count. And no promised byte is missing.
  mutating func checkRecovery(_ recovery: Recovery) {
    guard !recovery.published else { return }
    let bytes = machine.contents(of: Self.target + ".haul.part", in: Self.path) ?? []
    for range in recovery.received.ranges
    where !content.agrees(with: bytes, in: range) {
      fail("I1: recovery counts \(range), which is not there")
    }
    if strict, !durable.ranges.allSatisfy(recovery.received.covers) {
      fail("a durable byte was lost: \(durable) against \(recovery.received)")
    }
  }

  /// I1 after a power cut, relaxed: bytes that count are nevertheless right.
  mutating func checkCounted() {
    let process = machine.startProcess()
    guard let directory = try? process.openDirectory(Self.path, creating: true),
      let part = try? PartFile.acquire(
        disk: process, directory: directory, name: Self.target,
        nonce: Array(repeating: 1, count: 16), durability: .relaxed)
    else { return }  // Files that cannot be taken over count nothing.
    checkRecovery(part.recovery)
    part.release()
  }

  /// I1 in the journal: a durable record is on disk only after its bytes.
  mutating func checkDurableRecords() {
    guard let journal = machine.contents(of: Self.target + ".haul.journal", in: Self.path) else {
      return
    }
    let replay = JournalReplay(journal)
    guard replay.publication == nil else { return }
    let bytes = machine.contents(of: Self.target + ".haul.part", in: Self.path) ?? []
    for claim in replay.claims.prefix(Int(replay.durableCount))
    where !claim.isVoid && !content.agrees(with: bytes, in: claim.extent.range) {
      fail("I1: the journal calls \(claim.extent.range) durable, which is not there")
    }
  }

  /// I2, I3, I4: the names and their contents.
  mutating func check() {
    let isPromised = strict || !lostPower
    for name in machine.names(in: Self.path) where !name.contains(".haul.") {
      let bytes = machine.contents(of: name, in: Self.path)
      if name == Self.target, foreignIsThere {
        if bytes != foreign { fail("I4: the foreign file has changed") }
      } else if isPromised, bytes != content, !isPlaceholder(name) {
        fail("I2: \(name) is there and not whole")
      }
    }
    if foreignIsThere, !isThere { fail("I4: the foreign file is gone") }
    if machine.isPlantedFileLost(in: Self.path) { fail("I4: a process took the foreign file away") }
    if isPromised, let completedAs,
      machine.contents(of: completedAs, in: Self.path) != content
    {
      fail("I3: completed, and \(completedAs) is not there")
    }
  }

  /// Where a file system has neither rename without replacing nor links, an empty file holds the
  /// name for a moment. It stays if a crash comes before its record.
  private func isPlaceholder(_ name: String) -> Bool {
    usesPlaceholders && completedAs != name && machine.contents(of: name, in: Self.path) == []
  }

  var usesPlaceholders: Bool {
    !baseFaults.supportsLinks && !baseFaults.supportsRenameWithoutReplacing
  }
}

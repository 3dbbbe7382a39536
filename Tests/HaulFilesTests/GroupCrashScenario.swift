import HaulCore
import HaulFiles
import HaulTesting

/// A run over many small files of two directories, published in groups, with a crash anywhere; then
/// runs that continue until all files exist.
struct GroupCrashScenario {
  /// When a file is reported complete.
  enum ReportTime: CaseIterable, Sendable {
    case afterTheSyncs, beforeTheSyncs
  }

  typealias Wrap = @Sendable (any Disk) -> any Disk

  static let paths = ["/downloads", "/pictures"]

  private struct File: Hashable {
    let path: String
    let name: String
  }

  private let machine: SimulatedMachine
  private let reportTime: ReportTime
  private let wrap: Wrap
  private var random: SimulationRandom
  private var contents: [File: [UInt8]] = [:]
  private var completed: Set<File> = []
  private var violations: [String] = []

  static func violations(
    seed: UInt64, reportTime: ReportTime = .afterTheSyncs, wrap: @escaping Wrap = { $0 }
  ) -> [String] {
    var scenario = GroupCrashScenario(seed: seed, reportTime: reportTime, wrap: wrap)
    scenario.run()
    return scenario.violations
  }

  private init(seed: UInt64, reportTime: ReportTime, wrap: @escaping Wrap) {
    random = SimulationRandom(seed: seed)
    var faults = SimulatedFaults()
    faults.shortWrites = random.oneIn(2)
    faults.supportsRenameWithoutReplacing = !random.oneIn(6)
    machine = SimulatedMachine(seed: random.next(), faults: faults)
    self.reportTime = reportTime
    self.wrap = wrap
    for number in 0..<(1 + random.below(24)) {
      let path = Self.paths[random.below(Self.paths.count)]
      let start = random.below(50_000)
      contents[File(path: path, name: "\(number).bin")] = Array(
        CrashScenario.pool[start..<(start + 1 + random.below(5_000))])
    }
  }

  private mutating func run() {
    for _ in 0..<(1 + random.below(4)) {
      machine.crash(afterChanges: 1 + random.below(contents.count * 12))
      live()
      if random.oneIn(4) { machine.killProcesses() } else { machine.losePower() }
      check()
      guard violations.isEmpty else { return }
    }
    machine.crash(afterChanges: nil)
    live()
    machine.losePower()
    check()
    if completed.count < contents.count { violations.append("liveness: not all were completed") }
  }

  /// One process: groups of random size, until all files exist or it dies.
  private mutating func live() {
    let process = machine.startProcess()
    let disk = MaskedDisk(base: wrap(process))
    var missing = contents.keys.filter { !completed.contains($0) }.sorted { $0.name < $1.name }
    while !missing.isEmpty, process.isAlive {
      let group = Array(missing.prefix(1 + random.below(12)))
      missing.removeFirst(group.count)
      commit(group, on: disk)
    }
  }

  private mutating func commit(_ group: [File], on disk: some Disk) {
    let ready = group.compactMap { file in part(of: file, on: disk).map { (file, $0) } }
    let names = ready.map { file, part in
      PendingPublication(
        of: part, file.name, length: Int64(contents[file]?.count ?? 0), modified: 1_000,
        replacing: false)
    }
    if reportTime == .beforeTheSyncs { completed.formUnion(ready.map(\.0)) }
    for ((file, part), result) in zip(ready, PartFile.publish(names)) {
      if case .success = result { completed.insert(file) }
      part.release()
    }
  }

  /// The part file with all its bytes; nil if the name exists already, or the process has died.
  private mutating func part(of file: File, on disk: some Disk) -> PartFile? {
    do {
      let directory = try disk.openDirectory(file.path, creating: true)
      let nonce = (0..<16).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      guard try TargetCheck.state(of: file.name, in: directory) == .absent else {
        return finish(file, directory, disk, nonce)
      }
      let part = try PartFile.acquire(
        disk: disk, directory: directory, name: file.name, nonce: nonce, durability: .strict,
        deferringJournalUpTo: 1 << 20)
      if part.recovery.published {
        completed.insert(file)
        part.release()
        return nil
      }
      do {
        try fill(part, contents[file] ?? [])
      } catch {
        part.release()
        return nil
      }
      return part
    } catch {
      return nil
    }
  }

  /// After a crash behind the rename, the next run finds and accepts the file. It may report it
  /// only if the file survives the next power cut.
  private mutating func finish(
    _ file: File, _ directory: any DiskDirectory, _ disk: some Disk, _ nonce: [UInt8]
  ) -> PartFile? {
    guard (try? directory.sync()) != nil else { return nil }  // it died in it
    completed.insert(file)
    return nil
  }

  private mutating func fill(_ part: PartFile, _ bytes: [UInt8]) throws {
    try part.begin(
      try sampleHead(Int64(bytes.count)), reserving: random.oneIn(2) ? 1 << 20 : 0)
    var writer = try part.writer(at: 0, now: Instant())
    let middle = random.below(bytes.count)
    try part.write(
      [Array(bytes[..<middle]), Array(bytes[middle...])], with: &writer, now: Instant())
    try part.claim(&writer)
  }

  private mutating func check() {
    for path in Self.paths {
      for name in machine.names(in: path) where !name.contains(".haul.") {
        let file = File(path: path, name: name)
        if machine.contents(of: name, in: path) != contents[file] {
          violations.append("I2: \(path)/\(name) is there and not whole")
        }
      }
    }
    for file in completed
    where machine.contents(of: file.name, in: file.path) != contents[file] {
      violations.append("I3: completed, and \(file.path)/\(file.name) is not there")
    }
  }
}

/// With a mask that denies groups writing, so that a small file can be published without a journal.
private struct MaskedDisk: Disk {
  let base: any Disk

  var bootID: String { base.bootID }
  var effectiveUser: UInt32 { base.effectiveUser }
  var creationMask: UInt32 { 0o022 }

  func workingDirectory() throws(DiskError) -> String { try base.workingDirectory() }

  func openDirectory(
    _ path: String, below roots: [String]?, creating: Bool
  ) throws(DiskError) -> any DiskDirectory {
    try base.openDirectory(path, below: roots, creating: creating)
  }
}

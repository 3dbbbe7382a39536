public import HaulCore
import NIOConcurrencyHelpers

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A machine with a disk that can lose its power, and processes that can die in any change they
/// make. Everything random comes from the seed.
package final class SimulatedMachine: Sendable {
  let world: NIOLockedValueBox<SimulatedWorld>

  package init(seed: UInt64, faults: SimulatedFaults = SimulatedFaults()) {
    world = NIOLockedValueBox(
      SimulatedWorld(random: SimulationRandom(seed: seed), faults: faults))
  }

  /// A new process and its view of the disk.
  package func startProcess() -> SimulatedDisk {
    world.withLockedValue { world in
      let process = world.number()
      world.living.insert(process)
      return SimulatedDisk(machine: self, process: process, boot: world.boot)
    }
  }

  /// Lets whichever process makes the change of this number, from now on, die in it.
  package func crash(afterChanges count: Int?) {
    world.withLockedValue { $0.changesUntilCrash = count }
  }

  package func setFaults(_ faults: SimulatedFaults) {
    world.withLockedValue { $0.faults = faults }
  }

  /// Puts a directory on a file system of its own, or takes another number for that of one.
  package func put(_ path: String, onDevice device: UInt64) {
    world.withLockedValue { world in
      world.devices[path] = device
      world.directories[path] = world.directories[path] ?? SimulatedEntries()
    }
  }

  /// Lets all files of a file system have so many bytes together; as many as they like for nil.
  package func setCapacity(_ bytes: Int?, ofDevice device: UInt64 = 1) {
    world.withLockedValue { $0.capacities[device] = .some(bytes) }
  }

  /// Takes a directory's file system away, with what lies on it; files that are open fail from then
  /// on.
  /// - Parameter device: of the file system of the empty directory that is in its place; nil when
  ///   there is none.
  package func unmount(_ path: String, leaving device: UInt64? = nil) {
    world.withLockedValue { world in
      world.unmount(path)
      guard let device else { return }
      world.devices[path] = device
      world.directories[path] = SimulatedEntries()
    }
  }

  /// Brings it back, under this number.
  package func mount(_ path: String, onDevice device: UInt64 = 1) {
    world.withLockedValue { world in
      world.mount(path)
      world.devices[path] = device
    }
  }

  /// Ends all processes; the page cache stays, locks go.
  package func killProcesses() {
    world.withLockedValue { world in
      for process in world.living { world.kill(process) }
      world.changesUntilCrash = nil
    }
  }

  /// Cuts the power: of what was not synced, some stays, in no order. The next boot is another one.
  package func losePower() {
    world.withLockedValue { $0.losePower() }
  }

  /// What a program would read under the name.
  package func contents(of name: String, in path: String) -> [UInt8]? {
    world.withLockedValue { world in
      world.directories[path]?.current[name].flatMap { world.inodes[$0]?.cache }
    }
  }

  package func names(in path: String) -> [String] {
    world.withLockedValue { ($0.directories[path]?.current.keys).map { $0.sorted() } ?? [] }
  }

  /// Puts a durable file there, as another program would.
  package func plant(
    _ bytes: [UInt8], as name: String, in path: String, mode: UInt32 = 0o600,
    attribute: [UInt8]? = nil
  ) {
    world.withLockedValue { world in
      let inode = world.number()
      var file = SimulatedInode()
      file.mode = mode
      file.attribute = attribute
      file.changed = world.now
      bytes.withUnsafeBytes { file.write($0, at: 0) }
      file.sync()
      world.inodes[inode] = file
      world.directories[path, default: SimulatedEntries()].plant(inode, as: name)
    }
  }

  /// Whether a process has removed, or put another file in the place of, one that was planted.
  package func hasLostPlanted(in path: String) -> Bool {
    world.withLockedValue { $0.directories[path]?.hasLostPlanted ?? false }
  }

  /// Makes one call of a process; a dead one gets `EIO` and changes nothing.
  func perform<Value>(
    _ call: String, by process: UInt64, isChange: Bool = false,
    _ body: (inout SimulatedWorld) throws(DiskError) -> Value
  ) throws(DiskError) -> Value {
    try world.withLockedValue { world in
      Result { () throws(DiskError) in
        guard world.living.contains(process) else { throw DiskError(call, EIO) }
        if isChange { world.changes += 1 }
        guard isChange, world.diesNow() else { return try body(&world) }
        if Bool.random(using: &world.random) {
          world.isDying = true
          defer { world.isDying = false }
          // It dies with its last change made, or made in part, or not at all.
          _ = try? body(&world)
        }
        world.kill(process)
        throw DiskError(call, EIO)
      }
    }.get()
  }
}

/// A disk in memory, as one process sees it. At a power cut it loses what was not synced, as real
/// disks do. Paths begin with `/`.
public struct SimulatedDisk: Disk {
  let machine: SimulatedMachine
  let process: UInt64
  let boot: Int

  init(machine: SimulatedMachine, process: UInt64, boot: Int) {
    (self.machine, self.process, self.boot) = (machine, process, boot)
  }

  package var bootID: String { "boot-\(boot)" }
  package var effectiveUser: UInt32 { 1000 }
  package var creationMask: UInt32 { 0o002 }

  package func workingDirectory() -> String { "/" }

  /// Whether the process has not died.
  package var isAlive: Bool {
    machine.world.withLockedValue { $0.living.contains(process) }
  }

  package func openDirectory(_ path: String, creating: Bool) throws(DiskError)
    -> any DiskDirectory
  {
    try machine.perform("open", by: process) { world throws(DiskError) in
      if world.directories[path] == nil {
        guard creating else { throw DiskError("open", ENOENT) }
        world.directories[path] = SimulatedEntries()
      }
    }
    return SimulatedDirectory(disk: self, path: path)
  }
}

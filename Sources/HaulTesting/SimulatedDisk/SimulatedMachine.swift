public import HaulCore
import HaulLibC
import NIOConcurrencyHelpers

/// A machine whose power can be cut, with processes that can die during any change. Everything
/// random depends on the seed.
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

  /// Lets a process die during the change with this number, counted from now on.
  package func crash(afterChanges count: Int?) {
    world.withLockedValue { $0.changesUntilCrash = count }
  }

  package func setFaults(_ faults: SimulatedFaults) {
    world.withLockedValue { $0.faults = faults }
  }

  /// Puts a directory on its own file system, or changes the number of its device.
  package func put(_ path: String, onDevice device: UInt64) {
    world.withLockedValue { world in
      world.devices[path] = device
      world.directories[path] = world.directories[path] ?? SimulatedEntries()
    }
  }

  /// Limits the total bytes of all files of a file system; nil for no limit.
  package func setCapacity(_ bytes: Int?, ofDevice device: UInt64 = 1) {
    world.withLockedValue { $0.capacities[device] = .some(bytes) }
  }

  /// - Parameter device: the file system of the empty directory in its place; nil if there is none.
  package func unmount(_ path: String, leaving device: UInt64? = nil) {
    world.withLockedValue { world in
      world.unmount(path)
      guard let device else { return }
      world.devices[path] = device
      world.directories[path] = SimulatedEntries()
    }
  }

  /// Mounts it again, under this number.
  package func mount(_ path: String, onDevice device: UInt64 = 1) {
    world.withLockedValue { world in
      world.mount(path)
      world.devices[path] = device
    }
  }

  /// Ends all processes. The page cache stays; locks are released.
  package func killProcesses() {
    world.withLockedValue { world in
      for process in world.living { world.kill(process) }
      world.changesUntilCrash = nil
    }
  }

  /// Cuts the power. Some of what was not synced stays, in any order. The next boot has another id.
  package func losePower() {
    world.withLockedValue { $0.losePower() }
  }

  /// What a program would read from the file.
  package func contents(of name: String, in path: String) -> [UInt8]? {
    world.withLockedValue { world in
      world.directories[path]?.current[name].flatMap { world.inodes[$0]?.cache }
    }
  }

  package func names(in path: String) -> [String] {
    world.withLockedValue { ($0.directories[path]?.current.keys).map { $0.sorted() } ?? [] }
  }

  /// Creates a durable file, as another program would.
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

  /// Changes the size of a file, as another program would.
  package func resize(_ name: String, in path: String, to size: Int) {
    world.withLockedValue { world in
      guard let inode = world.directories[path]?.current[name] else { return }
      world.inodes[inode]?.truncate(to: size)
      world.touch(inode)
    }
  }

  /// The permission bits of a file.
  package func mode(of name: String, in path: String) -> UInt32? {
    world.withLockedValue { world in
      world.directories[path]?.current[name].flatMap { world.inodes[$0]?.mode }
    }
  }

  /// Whether a process has removed or replaced a planted file.
  package func isPlantedFileLost(in path: String) -> Bool {
    world.withLockedValue { $0.directories[path]?.isPlantedFileLost ?? false }
  }

  /// Makes one call of a process. A dead process gets `EIO` and changes nothing.
  func perform<Value>(
    _ call: String, by process: UInt64, isChange: Bool = false,
    _ body: (inout SimulatedWorld) throws(DiskError) -> Value
  ) throws(DiskError) -> Value {
    try world.withLockedValue { world in
      Result { () throws(DiskError) in
        guard world.living.contains(process) else { throw DiskError(call, EIO) }
        if let number = world.faults.errors[call] { throw DiskError(call, number) }
        if isChange { world.changes += 1 }
        guard isChange, world.diesNow() else { return try body(&world) }
        if Bool.random(using: &world.random) {
          world.isDying = true
          defer { world.isDying = false }
          // It dies after its last change, or after part of it, or before it.
          _ = try? body(&world)
        }
        world.kill(process)
        throw DiskError(call, EIO)
      }
    }.get()
  }
}

/// A disk in memory, seen by one process. At a power cut it loses what was not synced, like real
/// disks. Paths begin with `/`.
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

  /// Whether the process is alive.
  package var isAlive: Bool {
    machine.world.withLockedValue { $0.living.contains(process) }
  }

  package func openDirectory(
    _ path: String, below roots: [String]?, creating: Bool
  ) throws(DiskError) -> any DiskDirectory {
    let isBelow = roots?.contains { FilePath(path).names(below: FilePath($0)) != nil }
    guard isBelow ?? true else { throw DiskError("open", EXDEV) }
    try machine.perform("open", by: process) { world throws(DiskError) in
      if world.directories[path] == nil {
        guard creating else { throw DiskError("open", ENOENT) }
        world.directories[path] = SimulatedEntries()
      }
    }
    return SimulatedDirectory(disk: self, path: path)
  }
}

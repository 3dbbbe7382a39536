public import HaulCore
import HaulStore

/// What happens to a stored list that is damaged.
public enum DamagedList: Sendable, Hashable {
  /// It stays where it is, and opening fails with `io`.
  case refuse
  /// It is moved aside, whole, and the list starts empty; `TransferManager.damage` says where it is now.
  case startEmpty
}

extension TransferManager {
  /// A manager whose list is kept in a directory, and survives the program and a power cut. What it finds there goes on at
  /// once: what ran waits for a slot again, what was paused is paused, orders that were not carried out are.
  ///
  /// The directory is made if missing, and belongs to one manager at a time. What is downloaded lies elsewhere.
  /// - Parameters:
  ///   - directory: where the list is kept.
  ///   - configuration: holds while the manager lives; it is not stored.
  ///   - ifDamaged: whether a damaged list is put aside for an empty one.
  ///   - steps: the steps that are in the list, by their names: what they do is not stored.
  /// - Throws: `in-use` when another manager has the directory, in this program or another, which is named;
  ///   `permission-denied` when others may write there; `io` when the list is damaged or of a newer version of Haul;
  ///   `disk-full`; `tls` as `init(_:)`.
  /// - Complexity: O(members of the list).
  public init(
    directory: String, _ configuration: Configuration = Configuration(),
    ifDamaged: DamagedList = .refuse, steps: [String: StepClosure] = [:]
  ) async throws(TransferError) {
    try await self.init(
      directory: directory, configuration, ifDamaged: ifDamaged, steps: steps, hooks: Hooks())
  }

  /// The same, with points where a test may watch.
  package init(
    directory: String, _ configuration: Configuration, ifDamaged: DamagedList = .refuse,
    steps: [String: StepClosure] = [:], hooks: Hooks
  ) async throws(TransferError) {
    try directory.checkPath()
    let ports = try SystemPorts(configuration, hooks: hooks)
    var options = SQLiteStore.Options()
    options.ifCorrupt = ifDamaged == .startEmpty ? .startEmpty : .refuse
    options.passes = { hooks.passes(.storing) }
    do throws(TransferError) {
      let store = try await SQLiteStore(
        directory: directory, clock: ports.engine.clock, options: options)
      self.init(ports, store: store, damage: store.damage)
    } catch {
      await ports.shutdown()
      throw error
    }
    if let damage { engine.log(damage) }
    self.steps = steps
    do throws(TransferError) {
      try await open()
    } catch {
      await shutdown()
      throw error
    }
  }

  /// Takes up what the store holds: what ran is queued again, what was paused stays so, orders that were not carried out are.
  /// Programs that run on are ended first.
  ///
  /// Once, before anything is added; steps that it is to run are registered before.
  /// - Throws: `io`, when the store cannot be read.
  package func open() async throws(TransferError) {
    // Nothing else holds it: a million would be copied with the first change.
    let left: [StoredProgram]
    do {
      let stored = try await store.open()
      left = stored.programs
      places = stored.places
      storedPlaces = Set(places.keys)
      queue = QueueMachine(consume stored)
    }
    engine.hooks.passes(.read)
    let unended = await endPrograms(left)
    engine.slots.update { scheduler in
      scheduler.reserve(queue.members.queued)
      queue.scheduleStored { scheduler.add($0, host: $1, priority: $2, rank: $3) }
    }
    let now = engine.clock.wallSeconds
    try await carryOut(inPortions: queue.takeStored()) { some, isLast, decision in
      queue.recover(some, at: now, unended: unended, isLast: isLast, &decision)
    }
    if store.isDurable { await tidyAfterCrash() }
    await startWhatMay()
  }
}

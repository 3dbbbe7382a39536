import HaulCore
import HaulFiles
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// What is known about the runs of transfers, from the grant of a slot until the end is stored.
@Suite struct RunSupervisorTests {
  private var runs = RunSupervisor()
  private let ids: [TransferID]
  private let engine: Engine

  init() {
    var generator = SystemRandomNumberGenerator()
    ids = (0..<4).map { _ in TransferID(using: &generator) }.sorted()
    let clock = ManualClock()
    let executor = SeededExecutor(seed: 1)
    engine = Engine(
      transport: SimulatedTransport(
        servers: SimulatedTransport.Servers(), clock: clock, executor: executor,
        ledger: SharedLedger(Ledger(Ledger.Limits())), random: SeededRandom(seed: 1)),
      disk: SimulatedMachine(seed: 1).startProcess(), io: .withoutThreads, clock: clock,
      configuration: TransferManager.Configuration(), seed: 1, soleExecutor: executor)
  }

  private mutating func begin(_ id: TransferID) -> RunContext {
    let context = RunContext(id: id, engine: engine, coordinator: nil)
    runs[id].run = RunSupervisor.Run(context: context)
    return context
  }

  private static let completed = RunEnd.finished(TransferResult(state: .completed))
  private static let location = FileLocation(
    directory: "/d", device: 1, boot: "b", name: "f", partName: "f.part")

  @Test mutating func `A run counts as running until its end is stored`() {
    let id = ids[0]
    #expect(!runs.isRunning(id))
    _ = begin(id)
    #expect(runs.isRunning(id))
    #expect(runs.isWaitingForSlot(id), "it may give up its slot and wait for one again")
    let isOfInterest = runs.ended(id, .paused)
    #expect(isOfInterest)
    #expect(runs.isRunning(id), "its end is not stored")
    #expect(!runs.isWaitingForSlot(id), "nothing runs for it")
    #expect(runs.ended == [id])
    runs.endsStored([id])
    #expect(!runs.isRunning(id))
    #expect(runs.ended.isEmpty)
    #expect(runs.running.isEmpty)
  }

  @Test
  mutating func `Running transfers are listed in order, including those whose end is not stored`() {
    for id in ids.reversed() { _ = begin(id) }
    _ = runs.ended(ids[2], .paused)
    #expect(runs.running == ids)
    runs.endsStored([ids[2]])
    #expect(runs.running == [ids[0], ids[1], ids[3]])
  }

  @Test mutating func `Orders reach the run in order, including those sent before it listens`() {
    let context = begin(ids[0])
    runs.send(.pause, to: ids[0])
    runs.send(.slotGranted, to: ids[0])
    runs.send(.forceStop, to: ids[1])
    let heard = NIOLockedValueBox<[String]>([])
    context.receiveOrders { order in heard.withLockedValue { $0.append("\(order)") } }
    #expect(heard.withLockedValue { $0 } == ["pause", "slotGranted"])
    runs.send(.cancel, to: ids[0])
    #expect(heard.withLockedValue { $0 } == ["pause", "slotGranted", "cancel"])
    _ = runs.ended(ids[0], .paused)
    runs.endsStored([ids[0]])
    runs.send(.cancel, to: ids[0])
    #expect(heard.withLockedValue { $0.count } == 3, "the run has ended")
  }

  @Test mutating func `Ends are kept in the order of their arrival, and settled from the front`() {
    for id in ids { _ = begin(id) }
    for id in ids.reversed() { _ = runs.ended(id, .paused) }
    #expect(runs.ended == Array(ids.reversed()))
    runs.endsStored([ids[3], ids[2]])
    #expect(runs.ended == [ids[1], ids[0]])
    #expect(runs.running == [ids[0], ids[1]])
  }

  @Test mutating func `The end of a forgotten or force-stopped run is ignored`() {
    let forgotten = ids[0]
    _ = begin(forgotten)
    runs.forget(forgotten)
    #expect(!runs.isRunning(forgotten))
    let isOfInterest = runs.ended(forgotten, Self.completed)
    #expect(!isOfInterest)
    _ = begin(ids[1])
    runs[ids[1]].run?.isForceStopped = true
    let ofCutShort = runs.ended(ids[1], Self.completed)
    #expect(!ofCutShort)
    #expect(runs.isRunning(ids[1]), "it must be forgotten explicitly")
    #expect(runs.ended.isEmpty)
  }

  @Test mutating func `Forgetting a run while its end is stored does not affect other ends`() {
    for id in ids { _ = begin(id) }
    for id in ids.prefix(3) { _ = runs.ended(id, .paused) }
    // Two ends are being stored; meanwhile one of these runs is forgotten, and another run ends.
    runs.forget(ids[0])
    _ = runs.ended(ids[3], .paused)
    runs.endsStored([ids[0], ids[1]])
    #expect(runs.ended == [ids[2], ids[3]])
    #expect(runs.running == [ids[2], ids[3]])
    runs.forget(ids[2])
    runs.forget(ids[3])
    runs.endsStored([ids[2], ids[3]])
    #expect(runs.running.isEmpty)
  }

  @Test mutating func `The file location of a suspended run is kept, and marked as stored`() {
    let id = ids[0]
    _ = begin(id)
    runs[id].location = Self.location
    #expect(!runs[id].isLocationStored)
    _ = runs.ended(id, .suspended(.offline))
    #expect(runs[id].location == Self.location)
    runs.endsStored([id])
    #expect(runs[id].location == Self.location)
    #expect(runs[id].isLocationStored)
  }

  @Test
  mutating func `A completed run has no file location, and its stored one is deleted with the end`()
  {
    let id = ids[0]
    (runs[id].location, runs[id].isLocationStored) = (Self.location, true)
    _ = begin(id)
    _ = runs.ended(id, Self.completed)
    #expect(runs[id].location == nil)
    #expect(runs[id].isLocationStored, "the store must delete it with the end")
    runs.endsStored([id])
    #expect(!runs[id].isLocationStored)
  }

  private func stream() -> StreamBuffer { StreamBuffer(size: 1 << 20, io: .withoutThreads) }

  @Test mutating func `A stream ends with its run if it was read, and stays otherwise`() {
    for id in ids.prefix(3) {
      _ = begin(id)
      runs[id].stream = stream()
      runs[id].isStreamRead = id != ids[1]
    }
    _ = runs.ended(ids[0], Self.completed)
    _ = runs.ended(ids[1], Self.completed)
    _ = runs.ended(ids[2], .paused)
    runs.endsStored(runs.ended)
    #expect(runs[ids[0]].stream == nil)
    #expect(runs[ids[1]].stream != nil, "it may be read later")
    #expect(runs[ids[2]].stream != nil, "it continues")
  }

  @Test mutating func `A record is removed when it holds nothing worth keeping`() throws {
    let id = ids[0]
    let identity = TransferIdentity(
      url: try ResourceURL("http://h/f"), identifier: nil, group: nil)
    _ = begin(id)
    runs[id].identity = identity
    _ = runs.ended(id, Self.completed)
    #expect(runs[id].identity == identity)
    runs.endsStored([id])
    #expect(runs[id].identity == nil, "an address alone is not kept")
    runs[id].identity = identity
    #expect(runs[id].identity == nil)
    runs[id].isLocationStored = true
    runs[id].identity = identity
    #expect(runs[id].identity == identity, "with kept data it is")
    runs.remove(id)
    #expect(runs[id].identity == nil)
    #expect(!runs[id].isLocationStored)
  }

  @Test mutating func `The name from the server is kept after the run`() {
    let id = ids[0]
    _ = begin(id)
    runs[id].serverName = FileName(exactly: "told")
    _ = runs.ended(id, .paused)
    runs.endsStored([id])
    #expect(runs[id].serverName == FileName(exactly: "told"))
    runs.remove(id)
    #expect(runs[id].serverName == nil)
  }
}

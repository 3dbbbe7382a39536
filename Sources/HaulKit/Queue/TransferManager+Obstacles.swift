import HaulCore
import HaulFiles
import NIOConcurrencyHelpers

/// Transfers that wait for room on a disk, for a directory, or for the network: queued, without a slot, and looked after.
extension TransferManager {
  /// Where its bytes lie is stored as long as it is to go on with them: after a restart their file system may be gone.
  func storePlace(of id: TransferID, _ decision: inout QueueDecision) {
    guard places[id] != nil || storedPlaces.contains(id) else { return }
    decision.places.append(StoredPlace(id: id, place: places[id]))
  }

  func noteStoredPlace(of id: TransferID) {
    if places[id] == nil { storedPlaces.remove(id) } else { storedPlaces.insert(id) }
  }

  /// Has those wait whose runs found something in their way. It is stored by now that they are queued.
  func hold(_ ends: some Sequence<((id: TransferID, end: RunEnd), MemberRun)>) {
    var urls: [TransferID: ResourceURL] = [:]
    var commands: [ObstacleWatch.Command] = []
    for ((id, end), run) in ends {
      // A command may have come since.
      guard case .suspended(let obstacle) = end, waitsForDue(id) else { continue }
      urls[id] = run.url
      commands += obstacles.handle(.held(id, obstacle), at: engine.clock.now)
    }
    guard !commands.isEmpty else { return }
    noteFullDevices()
    lookLater()
    for case .tell(let id, let reason) in commands {
      engine.hub.publish(.phase(.waiting, reason: reason), of: id, urls[id])
    }
  }

  private func waitsForDue(_ id: TransferID) -> Bool {
    queue.members[id].map { $0.state == .queued && $0.isPostponed } ?? false
  }

  private func lookLater() {
    guard !isShutDown, let next = obstacles.nextLook, looking.map({ $0.instant != next }) ?? true
    else { return }
    let clock = engine.clock
    let task = Task(executorPreference: engine.soleExecutor) { [weak self] in
      guard (try? await clock.sleep(until: next)) != nil else { return }
      await self?.look()
    }
    looking = (next, task)
  }

  /// Looks whether what they wait for is there, and lets those go on for whom it is.
  private func look() async {
    forgetThoseWhoLeft()
    let answers = await answers(to: obstacles.questions)
    guard !isShutDown else { return }
    forgetThoseWhoLeft()
    let commands = obstacles.handle(.looked(answers), at: engine.clock.now)
    noteFullDevices()
    lookLater()
    var released: [TransferID] = []
    for case .release(let id) in commands { released.append(id) }
    guard !released.isEmpty else { return }
    do {
      try await carryOut { (decision) throws(TransferError) in
        for id in released { queue.due(id, &decision) }
      }
    } catch { engine.log(error) }
    await startWhatMay()
    for id in released where queue.members[id]?.state == .queued { tellWaiting(id, nil) }
  }

  func forgetThoseWhoLeft() {
    for id in Array(obstacles.ids) where !waitsForDue(id) {
      _ = obstacles.handle(.left(id), at: engine.clock.now)
    }
  }

  private func noteFullDevices() {
    engine.fullDevices.withLockedValue { $0 = obstacles.fullDevices }
  }

  private func answers(
    to questions: [ObstacleWatch.Question]
  ) async -> [ObstacleWatch.Question: ObstacleWatch.Answer] {
    var answers: [ObstacleWatch.Question: ObstacleWatch.Answer] = [:]
    for question in questions { answers[question] = await answer(to: question) }
    return answers
  }

  /// Nil when the threads for files have been stopped.
  private func answer(to question: ObstacleWatch.Question) async -> ObstacleWatch.Answer? {
    switch question {
    case .network: .network(isUp: engine.network.isUp)
    case .directory(let path):
      try? await engine.io.run { [disk = engine.disk] in
        Place.find(path, on: disk).map { .directory(device: $0.device) } ?? .missing
      }
    case .room(let device, let path):
      try? await engine.io.run { [disk = engine.disk] in
        guard let found = Place.find(path, on: disk), found.device == device else {
          return .missing
        }
        return .room(free: (try? found.directory.availableBytes()) ?? nil)
      }
    }
  }
}

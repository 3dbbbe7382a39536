import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers

/// Members of the world: downloads and steps, some with dependencies, some in groups.
extension QueueWorld {
  func add() throws {
    let requests = try (0..<(1 + random.below(3))).map { _ in try request() }
    let key = random.oneIn(3) ? "key \(added)" : nil
    if let key { keyed.append((key, requests)) }
    add(requests, key: key)
  }

  /// The same call again, which adds nothing.
  func addAgain() {
    guard !keyed.isEmpty else { return }
    let (key, requests) = keyed[random.below(keyed.count)]
    add(requests, key: key)
  }

  private func add(_ requests: [TransferRequest], key: String?) {
    let names = requests.map(\.name).joined(separator: ", ")
    let number = ledger.withLockedValue { ledger in
      ledger.called("add \(names)\(key.map { " with \($0)" } ?? "")")
    }
    let (process, ledger) = (process, ledger)
    process.start {
      do throws(TransferError) {
        let transfers = try await process.manager.add(requests, key: key)
        // The result of a dead process does not count.
        if process.isDead { return }
        ledger.withLockedValue { ledger in
          guard ledger.answered(number) else { return }
          for transfer in transfers where ledger.names[transfer.id] == nil {
            ledger.violate("\(transfer.id) was added, and is not stored")
          }
        }
      } catch {
        if process.isDead { return }
        // Its dependency may have been removed, or its identifier may be taken.
        let known: Set<TransferError.Code> = [.io, .dependencyFailed, .inUse]
        ledger.withLockedValue { ledger in
          guard ledger.answered(number, error.code.rawValue), !known.contains(error.code) else {
            return
          }
          ledger.violate("add threw \(error)")
        }
      }
    }
  }

  private func request() throws -> TransferRequest {
    let name = "m\(added)"
    added += 1
    var request = random.oneIn(3) ? step(name) : try upload(name) ?? download(name)
    if random.oneIn(2) { request.identifier = name }
    if random.oneIn(2) { request.group = "g\(random.below(2))" }
    if random.oneIn(3) {
      request.priority =
        TransferRequest.Priority.allCases[random.below(TransferRequest.Priority.allCases.count)]
    }
    let others = ledger.withLockedValue { $0.listed.map(\.id) }
    for _ in 0..<(random.oneIn(3) ? 1 + random.below(2) : 0) where !others.isEmpty {
      request.after.append(others[random.below(others.count)])
    }
    let policies = TransferRequest.DependencyPolicy.allCases
    request.whenDependencyFails = policies[random.below(policies.count)]
    request.reportsProgress = !random.oneIn(4)
    if var random = starts {
      if random.oneIn(3) {
        request.startSeconds = process.clock.wallSeconds + Double(random.below(60) - 10)
      }
      starts = random
    }
    return request
  }

  private func step(_ name: String) -> TransferRequest {
    var plan = StepPlan()
    plan.turns = 1 + random.below(4)
    plan.isPatient = random.oneIn(2)
    plan.failsOneIn = self.plan.hasFaults && random.oneIn(3) ? 3 : nil
    plan.alwaysFails = random.oneIn(10)
    let made = plan
    stepPlans.withLockedValue { $0[name] = made }
    var step = StepRequest(.named("work", input: name))
    step.isIdempotent = random.oneIn(2)
    return TransferRequest(.step(step))
  }

  private func download(_ name: String) throws -> TransferRequest {
    var resource = SimulatedTransport.Resource(
      content: SeededContent(seed: random.next()), length: Int64(random.below(24 << 10)))
    resource.isMissing = random.oneIn(12)
    resource.knowsRanges = !random.oneIn(5)
    servers[name] = resource
    let url = try ResourceURL("http://h\(random.below(3))/\(name)")
    let isExact = random.oneIn(2)
    var download = DownloadRequest(
      url: url, to: isExact ? .file("\(Self.directory)/\(name)") : .directory(Self.directory))
    download.createsDirectories = true
    download.usesSuggestedName = random.oneIn(6)
    download.durability = random.oneIn(4) ? .relaxed : .strict
    download.connections = 1 + random.below(3)
    download.minimumSplit = 2 << 10
    download.retry.retries = random.below(3)
    return TransferRequest(.download(download))
  }
}

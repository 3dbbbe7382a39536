import HaulCore

/// Requests and bodies of the segments.
extension DownloadRun {
  /// Sends a request. It needs no task if the transport can send it at once and nothing must be
  /// awaited first.
  mutating func open(_ id: SegmentID, _ fetch: FetchRequest) {
    requests += 1
    var fetch = fetch
    (fetch.session, fetch.isOfClient) = (self.id, request.isOfClient)
    if let access = context.access, !fetch.hasLeftOrigin {
      (fetch.headers, fetch.bearerFile) = (access.fields, access.bearerFile)
    }
    fetch.prefersHTTP2 = !fetch.isAdditional && engine.sharesConnections(to: request.url.origin)
    log(id, asks: fetch)
    let now = engine.clock.now
    if mayBeginAtOnce(fetch), let handle = engine.transport.begin(fetch, answerHandler(of: id)) {
      connections.append(Connection(id: id, work: .request(handle), idleSince: .instant(now)))
      return
    }
    // An additional connection of a transfer gets its own thread, if there is one.
    let executor = (fetch.isAdditional ? nil : driver.executor) ?? engine.soleExecutor
    let (idleTimer, host, completionHandler) = (IdleTimer(since: now), host, answerHandler(of: id))
    let task = Task(executorPreference: executor) { [engine, fetch] in
      do {
        completionHandler(
          .success(try await engine.fetchUnlessPaused(fetch, of: host, idleTimer)))
      } catch {
        completionHandler(.failure(error))
      }
    }
    connections.append(Connection(id: id, work: .task(task), idleSince: .timer(idleTimer)))
  }

  /// False for the only transfer of a host: a task receives a large body at a slightly lower cost.
  private func mayBeginAtOnce(_ fetch: FetchRequest) -> Bool {
    guard !fetch.isAdditional, fetch.signing == nil, !fetch.hasCredential, engine.prepare == nil,
      engine.configuration.validate == nil
    else { return false }
    let host = host
    return engine.scheduler.update { $0.transfers(of: host) > 1 && $0.pauseEnd(of: host) == nil }
  }

  private func answerHandler(
    of id: SegmentID
  ) -> @Sendable (Result<FetchResponse, any Error>) -> Void {
    { [inbox] result in
      switch result {
      case .success(let response): inbox.answered(id, response)
      case .failure(let error): inbox.post(.event(.ended(id, by: error)))
      }
    }
  }

  /// Receives the body of an answer; returns with its end if all of it has arrived.
  mutating func receive(
    _ id: SegmentID, _ body: ResponseBody, newVersion version: DownloadMachine.Version?
  ) async {
    guard let response = takeResponse(id), let target else { return }
    // The new version has no bytes of an earlier run.
    if version != nil { reused = 0 }
    let receiver = SegmentReceiver(
      id: id, context: context, response: response, body: body, newVersion: version,
      checksums: machine.checksums(of: version), target: target, plan: plan,
      maximumSize: request.maximumSize, inbox: inbox)
    if response.collected != nil, !isRateLimited {
      return inbox.post(.event(await receiver.run(nil)))
    }
    let executor =
      response.executor ?? (id.number == 1 ? driver.executor : nil) ?? engine.soleExecutor
    start(id, on: executor) { await receiver.run($0) }
  }

  mutating func compare(_ id: SegmentID, _ range: ByteRange) {
    guard let response = takeResponse(id), let target else { return }
    start(id, on: engine.soleExecutor) { _ in
      do {
        var bytes: [UInt8] = []
        for try await chunk in response.body {
          chunk.withBytes { bytes.append(contentsOf: $0) }
          if bytes.count > range.length { break }
        }
        let isWhole = Int64(bytes.count) == range.length
        return .compared(
          id, isSame: isWhole ? try await target.holds(bytes, at: range.lowerBound) : false)
      } catch {
        return .ended(id, by: error)
      }
    }
  }

  private mutating func start(
    _ id: SegmentID, on executor: (any TaskExecutor)?,
    _ work: @escaping @Sendable (IdleTimer) async -> DownloadMachine.Event
  ) {
    let idleTimer = IdleTimer(since: engine.clock.now)
    let task = Task(executorPreference: executor) { [inbox] in
      inbox.post(.event(await work(idleTimer)))
    }
    connections.append(Connection(id: id, work: .task(task), idleSince: .timer(idleTimer)))
  }

  mutating func stop(_ id: SegmentID) {
    guard let index = index(of: id) else { return }
    connections[index].isStopped = true
    connections[index].cancel()
  }

  /// Closes an answer without reading it.
  mutating func drop(_ id: SegmentID) { _ = takeResponse(id) }

  mutating func takeAnswer(to id: SegmentID) -> ResponseHead? {
    guard let response = inbox.takeAnswer(to: id), let index = index(of: id) else { return nil }
    connections[index].work = .response(response)
    return response.head
  }

  func response(_ id: SegmentID) -> FetchResponse? {
    guard let index = index(of: id), case .response(let response) = connections[index].work
    else { return nil }
    return response
  }

  private mutating func takeResponse(_ id: SegmentID) -> FetchResponse? {
    guard let response = response(id), let index = index(of: id) else { return nil }
    connections.remove(at: index)
    return response
  }

  private func index(of id: SegmentID) -> Int? { connections.firstIndex { $0.id == id } }

  /// What the end of a request or body means, if it was stopped or timed out.
  mutating func ended(_ event: DownloadMachine.Event) -> DownloadMachine.Event {
    guard let id = event.endedID, let index = index(of: id) else { return event }
    let connection = connections.remove(at: index)
    if connection.isStopped { return .stopped(id) }
    // The body ended before the timeout took effect: no timeout is reported.
    if case .ended = event { return event }
    return connection.hasTimedOut
      ? .failed(id, engine.idleTimeoutError(machine.patience(of: id))) : event
  }

  /// Stops connections that received nothing for the idle timeout.
  mutating func stopTimedOut(at now: Instant) {
    for index in connections.indices {
      let connection = connections[index]
      guard connection.isActive, !connection.hasTimedOut, let start = connection.idleSince.start,
        now - start >= engine.idleTimeout * machine.patience(of: connection.id)
      else { continue }
      connections[index].hasTimedOut = true
      connection.cancel()
    }
  }

  /// Returns when no connection is left.
  mutating func closeConnections() async {
    connections.removeAll { !$0.isActive }
    for connection in connections { connection.cancel() }
    while !connections.isEmpty {
      switch await inbox.next() {
      case .event(let event): _ = ended(event)
      case .answered(let id):
        _ = inbox.takeAnswer(to: id)
        connections.removeAll { $0.id == id }
      default: break
      }
    }
  }
}

extension DownloadMachine.Event {
  /// The end of a request or body that failed or was cancelled.
  static func ended(_ id: SegmentID, by error: any Error) -> Self {
    (error as? TransferError).map { .failed(id, $0) } ?? .stopped(id)
  }

  fileprivate var endedID: SegmentID? {
    switch self {
    case .ended(let id), .failed(let id, _), .stopped(let id), .compared(let id, _): id
    default: nil
    }
  }
}

extension Engine {
  /// Why a connection without bytes is dropped.
  /// - Parameter patience: how many times the timeout it was kept.
  func idleTimeoutError(_ patience: Int = 1) -> TransferError {
    TransferError(
      .stalled,
      "no bytes received for \(idleTimeout * patience)",
      advice: "try again later, or allow more time",
      isRetryable: true
    ).remedied(by: .longerTimeout)
  }

  /// Whether the machine has no network: then a transfer waits for it, and counts no attempt.
  func isOffline(_ error: TransferError) -> Bool {
    waitsForNetwork && error.cause == .noRoute && !network.isUp
  }
}

import HaulCore
import NIOConcurrencyHelpers

/// Requests to the server of a remote source.
extension Engine {
  /// What its server says of the source of an upload; nil if it was stopped.
  func askSource(
    _ source: DownloadRequest, for target: ResourceURL, on executor: (any TaskExecutor)?,
    unless stop: StopSignal
  ) async throws(TransferError) -> RemoteVersion.Answer? {
    let probe = RemoteVersion.probe(of: source)
    return try await read(on: executor, unless: stop) { timer in
      let response = try await self.fetchSource(probe, timer)
      var answer = try RemoteVersion.answer(
        response.head, to: probe, of: source, for: target, wallSeconds: self.clock.wallSeconds)
      // Dropping the response closes its body.
      guard case .ranges(let version) = answer.reading else { return answer }
      // A body that is read leaves the connection for the parts.
      let bytes = try await self.bytes(version.probedLength, of: response, timer)
      if let error = answer.page?.error(bytes) { throw error.ofSource }
      if bytes.count == version.length { answer.whole = bytes }
      return answer
    }
  }

  /// The bytes of an answer that announced so many.
  func bytes(
    _ count: Int64, of response: FetchResponse, _ timer: IdleTimer
  ) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Int(count))
    for try await chunk in response.body {
      timer.begin(at: clock.now)
      guard bytes.count + chunk.count <= Int(count) else {
        throw TransferError.source(.protocolViolation, "sent more bytes than it announced")
      }
      chunk.withBytes { bytes += $0 }
    }
    guard bytes.count == Int(count) else {
      throw TransferError.source(
        .connectionLost, "ended in the middle of a part", isRetryable: true)
    }
    return bytes
  }

  /// Sends a request to the source. A pause that its server asked for is waited for first.
  func fetchSource(
    _ request: FetchRequest, _ timer: IdleTimer
  ) async throws -> FetchResponse {
    var request = request
    request.prefersHTTP2 = httpVersion == .http2
    log(asks: request)
    let response = try await fetch(request, of: request.url.origin.authority, timer)
    log(response.head)
    return response
  }

  /// Runs `body` until it ends, is stopped, or receives nothing for the idle timeout.
  /// - Returns: nil if it was stopped.
  func read<Value: Sendable>(
    on executor: (any TaskExecutor)? = nil, unless stop: StopSignal,
    _ body: @escaping @Sendable (IdleTimer) async throws -> Value
  ) async throws(TransferError) -> Value? {
    let watch = ReadingWatch(self)
    defer { watch.close() }
    let task = Task(executorPreference: executor ?? soleExecutor) { try await body(watch.timer) }
    stop.whenStopped { task.cancel() }
    watch.whenStalled { task.cancel() }
    heartbeat.add(watch)
    let result = await withTaskCancellationHandler {
      await task.result
    } onCancel: {
      task.cancel()
    }
    switch result {
    case .success(let value): return value
    case .failure where watch.hasStalled: throw idleTimeoutError().ofSource
    case .failure where stop.isStopped || Task.isCancelled: return nil
    case .failure(let error): throw Self.sourceError(error)
    }
  }

  /// Waits; false if it was stopped.
  func pause(_ duration: Duration, unless stop: StopSignal) async -> Bool {
    let task = Task(executorPreference: soleExecutor) { [clock] in
      try await clock.sleep(until: clock.now + duration)
    }
    stop.whenStopped { task.cancel() }
    let result = await withTaskCancellationHandler {
      await task.result
    } onCancel: {
      task.cancel()
    }
    return (try? result.get()) != nil && !stop.isStopped
  }

  /// What a request to the source failed with.
  static func sourceError(_ error: any Error) -> TransferError {
    guard let error = error as? TransferError else {
      return TransferError(
        .connectionLost, "the request failed (\(type(of: error)))", isRetryable: true
      ).ofSource
    }
    return error.ofSource
  }
}

/// Ends a reading that receives nothing for the idle timeout.
final class ReadingWatch: HeartbeatReceiver {
  private struct State {
    var hasStalled = false
    var isClosed = false
  }

  let timer: IdleTimer
  private let engine: Engine
  private let stop = StopSignal()
  private let state = NIOLockedValueBox(State())

  init(_ engine: Engine) {
    self.engine = engine
    timer = IdleTimer(since: engine.clock.now)
  }

  var hasStalled: Bool { state.withLockedValue { $0.hasStalled } }

  func whenStalled(_ action: @escaping @Sendable () -> Void) { stop.whenStopped(action) }

  /// No more ticks are wanted.
  func close() { state.withLockedValue { $0.isClosed = true } }

  func tick() -> Bool {
    let isStalled = timer.start.map { engine.clock.now - $0 >= engine.idleTimeout } ?? false
    let isOpen = state.withLockedValue { state in
      if isStalled, !state.isClosed { state.hasStalled = true }
      return !state.isClosed && !state.hasStalled
    }
    if isStalled { stop.stop() }
    return isOpen
  }
}

import Foundation
import HaulCache
import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers

struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

enum ResidentMemory {
  static func kibibytes() throws -> Int {
    let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
  }
}

/// A directory that is removed at the end.
final class TemporaryDirectory: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/haul-cache-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// A server without a network: answers as a closure says, and can hold its answers.
final class ScriptedFetcher: ResourceFetcher {
  typealias Answer =
    @Sendable (ResourceFetchRequest, _ number: Int) throws(TransferError) -> ResourceResponse

  private struct State {
    var answer: Answer
    var requests: [ResourceFetchRequest] = []
    var isHolding = false
    var held: [Int: CheckedContinuation<Bool, Never>] = [:]
    var waiters: [(Int, CheckedContinuation<Void, Never>)] = []
    var cancelled = 0
  }

  private let state: NIOLockedValueBox<State>
  let clock: ManualClock

  init(_ clock: ManualClock, _ answer: @escaping Answer) {
    self.clock = clock
    state = NIOLockedValueBox(State(answer: answer))
  }

  var requests: [ResourceFetchRequest] { state.withLockedValue { $0.requests } }
  var cancelled: Int { state.withLockedValue { $0.cancelled } }

  func answer(_ answer: @escaping Answer) { state.withLockedValue { $0.answer = answer } }

  func hold() { state.withLockedValue { $0.isHolding = true } }

  /// Lets all held requests, or one of them, be answered.
  func release(_ number: Int? = nil) {
    let held = state.withLockedValue { state in
      if number == nil { state.isHolding = false }
      let numbers = number.map { [$0] } ?? Array(state.held.keys)
      return numbers.compactMap { state.held.removeValue(forKey: $0) }
    }
    for waiter in held { waiter.resume(returning: true) }
  }

  /// Returns when so many requests have arrived, and are held.
  func waitForRequests(_ count: Int) async {
    await withCheckedContinuation { waiter in
      let isThere = state.withLockedValue { state in
        if state.requests.count >= count { return true }
        state.waiters.append((count, waiter))
        return false
      }
      if isThere { waiter.resume() }
    }
  }

  func fetch(_ request: ResourceFetchRequest) async throws(TransferError) -> ResourceResponse {
    let number = state.withLockedValue { state in
      state.requests.append(request)
      return state.requests.count
    }
    let isAnswered = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
        let (result, arrived): (Bool?, [CheckedContinuation<Void, Never>]) =
          state
          .withLockedValue { state in
            let arrived = state.waiters.filter { $0.0 <= state.requests.count }.map(\.1)
            state.waiters.removeAll { $0.0 <= state.requests.count }
            if Task.isCancelled { return (false, arrived) }
            guard state.isHolding else { return (true, arrived) }
            state.held[number] = continuation
            return (nil, arrived)
          }
        for waiter in arrived { waiter.resume() }
        if let result { continuation.resume(returning: result) }
      }
    } onCancel: {
      state.withLockedValue { $0.held.removeValue(forKey: number) }?.resume(returning: false)
    }
    guard isAnswered else {
      state.withLockedValue { $0.cancelled += 1 }
      throw TransferError(.cancelled, "cancelled")
    }
    return try state.withLockedValue { $0.answer }(request, number)
  }
}

extension ScriptedFetcher {
  /// A server whose bodies name their paths and the number of the request.
  static func serving(
    _ clock: ManualClock, _ headers: HeaderFields = ["Cache-Control": "max-age=60"]
  ) -> ScriptedFetcher {
    ScriptedFetcher(clock) { request, number in
      clock.response(200, headers, "\(request.url.path) \(number)")
    }
  }
}

extension ManualClock {
  func response(
    _ status: Int, _ headers: HeaderFields = HeaderFields(), _ body: String = ""
  ) -> ResourceResponse {
    ResourceResponse(
      status: status, headers: headers, body: Data(body.utf8), requestedAt: wallSeconds,
      answeredAt: wallSeconds)
  }
}

/// A cache of texts over a scripted server.
struct Fixture {
  static let start: Double = 1_700_000_000
  let clock = ManualClock(wallStart: Self.start)
  let fetcher: ScriptedFetcher
  let cache: ResourceCache<String>

  init(
    headers: HeaderFields = ["Cache-Control": "max-age=60"], directory: String? = nil,
    _ change: (inout ResourceCacheConfiguration) -> Void = { _ in }
  ) {
    let fetcher = ScriptedFetcher.serving(clock, headers)
    self.fetcher = fetcher
    cache = Self.cache(fetcher, clock, directory, change)
  }

  static func cache(
    _ fetcher: ScriptedFetcher, _ clock: ManualClock, _ directory: String? = nil,
    _ change: (inout ResourceCacheConfiguration) -> Void = { _ in }
  ) -> ResourceCache<String> {
    var configuration = ResourceCacheConfiguration()
    configuration.observesMemoryPressure = false
    configuration.directory = directory
    change(&configuration)
    return ResourceCache(configuration, fetcher: fetcher, clock: clock, io: BlockingIO()) {
      String(decoding: $0.data, as: UTF8.self)
    }
  }

  func url(_ path: String = "/a") throws -> ResourceURL {
    try ResourceURL("http://example.com\(path)")
  }
}

func offline() -> TransferError { TransferError(.connect, "no route", isRetryable: true) }

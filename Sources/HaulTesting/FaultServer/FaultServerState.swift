import HaulCore
import NIOConcurrencyHelpers
import NIOCore

/// The state that all connections of a fault server share, behind one lock.
final class FaultServerState: Sendable {
  /// A received request, from which its answer is created.
  struct AcceptedRequest: Sendable {
    var number: Int
    var resource: FaultScript.Resource
    var actions: [Fault.Action]
    var facts: RequestFacts
  }

  fileprivate struct Waiter {
    let id: Int
    let holds: @Sendable (FaultServerSnapshot) -> Bool
    let promise: EventLoopPromise<Void>
  }

  fileprivate struct Entry {
    var resource: FaultScript.Resource
    var requests = 0
    /// The number of requests that each fault has matched.
    var matched: [Int]
    var uploads: (any UploadServer)?
    /// The length of what the last PUT has sent: HEAD answers with it from then on.
    var stored: Int64?

    init(_ resource: FaultScript.Resource) {
      self.resource = resource
      matched = resource.faults.map { _ in 0 }
      uploads = resource.service?.server(at: resource.path)
    }
  }

  fileprivate struct Values {
    var entries: [String: Entry] = [:]
    var snapshot = FaultServerSnapshot()
    var firstNumber = 1
    var waiters: [Waiter] = []
    var nextWaiter = 1
    var held: [Int: (path: String, release: @Sendable () -> Void)] = [:]
    var channels: [Int: any Channel] = [:]
  }

  private let values: NIOLockedValueBox<Values>

  init(_ script: FaultScript) {
    var values = Values()
    for resource in script.resources { values.entries[resource.path] = Entry(resource) }
    self.values = NIOLockedValueBox(values)
  }

  var snapshot: FaultServerSnapshot { values.withLockedValue { $0.snapshot } }

  /// Changes the values, then wakes the waiters whose condition is met now.
  private func change<Result>(_ body: (inout Values) -> Result) -> Result {
    let (result, woken) = values.withLockedValue { values in
      let result = body(&values)
      guard !values.waiters.isEmpty else { return (result, [EventLoopPromise<Void>]()) }
      let snapshot = values.snapshot
      let woken = values.waiters.filter { $0.holds(snapshot) }
      let ids = Set(woken.map(\.id))
      values.waiters.removeAll { ids.contains($0.id) }
      return (result, woken.map(\.promise))
    }
    for promise in woken { promise.succeed() }
    return result
  }
}

// MARK: Script

extension FaultServerState {
  var script: FaultScript {
    values.withLockedValue { values in
      FaultScript(values.entries.values.map(\.resource).sorted { $0.path < $1.path })
    }
  }

  func replace(_ script: FaultScript) {
    change { values in
      values.entries = [:]
      for resource in script.resources { values.entries[resource.path] = Entry(resource) }
    }
  }

  /// Adds or changes one resource; resets its fault counts if its faults changed.
  func update(_ path: String, _ body: (inout FaultScript.Resource) -> Void) -> Bool {
    change { values in
      guard var entry = values.entries[path] else { return false }
      let faults = entry.resource.faults
      body(&entry.resource)
      if entry.resource.faults != faults { entry.matched = entry.resource.faults.map { _ in 0 } }
      values.entries[path] = entry
      return true
    }
  }

  func add(_ resource: FaultScript.Resource) {
    change { $0.entries[resource.path] = Entry(resource) }
  }
}

// MARK: Requests and responses

extension FaultServerState {
  func opened(_ channel: any Channel) -> Int {
    change { values in
      values.snapshot.connectionsOpened += 1
      values.snapshot.connectionsOpen += 1
      values.channels[values.snapshot.connectionsOpened] = channel
      return values.snapshot.connectionsOpened
    }
  }

  func closed(connection: Int) {
    change { values in
      values.snapshot.connectionsOpen -= 1
      values.channels[connection] = nil
    }
  }

  var channels: [any Channel] { values.withLockedValue { Array($0.channels.values) } }

  /// Records a request; its response is in progress from now on.
  func begin(
    method: String, target: String, headers: HeaderFields, connection: Int,
    version: RequestRecord.Version
  ) -> AcceptedRequest? {
    change { values -> AcceptedRequest? in
      let path = Self.path(of: target)
      let number = values.firstNumber + values.snapshot.requests.count
      values.snapshot.requests.append(
        RequestRecord(
          number: number, method: method, path: path, target: target, headers: headers,
          connection: connection, version: version))
      let key = values.resourcePath(of: path)
      guard var entry = values.entries[key] else { return nil }
      entry.requests += 1
      let facts = RequestFacts(
        method: method, headers: headers, number: entry.requests,
        othersInProgress: values.snapshot.inProgress(key))
      let actions = entry.takeActions(facts)
      values.entries[key] = entry
      if method == "HEAD", let stored = entry.stored { entry.resource.length = stored }
      values.snapshot.change(key) { counters in
        counters.requests += 1
        counters.inProgress += 1
        counters.maximumInProgress = max(counters.maximumInProgress, counters.inProgress)
      }
      return AcceptedRequest(
        number: number, resource: entry.resource, actions: actions, facts: facts)
    }
  }

  /// Records bytes of a request's body.
  func received(_ number: Int, _ bytes: some Collection<UInt8>) {
    change { values in
      values.edit(number) { record in
        record.bodyReceived += Int64(bytes.count)
        record.body += bytes.prefix(max(0, Self.largestKeptBody - record.body.count))
      }
    }
  }

  /// Lets a server of uploads handle a whole request; nil for any other resource.
  func serve(_ accepted: AcceptedRequest) -> ServiceAnswer? {
    change { values in
      guard let request = values.request(accepted.number) else { return nil }
      return values.entries[accepted.resource.path]?.uploads?.answer(to: request)
    }
  }

  /// Lets a server of uploads take note of a request that ended in the middle of its body.
  func abandoned(_ accepted: AcceptedRequest) {
    change { values in
      guard let request = values.request(accepted.number) else { return }
      values.entries[accepted.resource.path]?.uploads?.abandoned(request)
    }
  }

  /// The files below the path of a server of uploads, by path.
  func files(below path: String) -> [String: [UInt8]] {
    values.withLockedValue { $0.entries[path]?.uploads?.files ?? [:] }
  }

  private static let largestKeptBody = 16 << 20

  func answered(_ number: Int, status: Int?) {
    change { values in
      values.edit(number) { $0.status = status }
      guard let status, (200..<300).contains(status), let request = values.request(number),
        request.method == "PUT"
      else { return }
      values.entries[values.resourcePath(of: request.path)]?.stored = request.bodyReceived
    }
  }

  func sent(_ number: Int, path: String, bodyBytes: Int) {
    change { values in
      values.edit(number) { $0.bodyBytesSent += Int64(bodyBytes) }
      values.snapshot.change(path) { $0.bytes += Int64(bodyBytes) }
    }
  }

  func ended(_ number: Int, path: String, _ outcome: RequestRecord.Outcome) {
    change { values in
      values.edit(number) { $0.outcome = outcome }
      values.snapshot.change(path) { $0.inProgress -= 1 }
    }
  }

  func hold(_ number: Int, path: String, release: @escaping @Sendable () -> Void) {
    change { values in
      values.held[number] = (path, release)
      values.snapshot.change(path) { $0.held += 1 }
    }
  }

  /// Forgets a held response, because it was released or its connection ended.
  func forgetHeld(_ number: Int) {
    change { values in
      guard let held = values.held.removeValue(forKey: number) else { return }
      values.snapshot.change(held.path) { $0.held -= 1 }
    }
  }

  /// Releases the held responses of a path, or all; returns their number.
  func release(_ path: String?) -> Int {
    let released = change { values in
      let chosen = values.held.filter { path == nil || $0.value.path == path }
      for (number, held) in chosen {
        values.held[number] = nil
        values.snapshot.change(held.path) { $0.held -= 1 }
      }
      return chosen.values.map(\.release)
    }
    for release in released { release() }
    return released.count
  }

  func resetStatistics() {
    change { values in
      values.firstNumber += values.snapshot.requests.count
      values.snapshot.requests = []
      values.snapshot.total.restart()
      for path in values.snapshot.counters.keys { values.snapshot.counters[path]?.restart() }
    }
  }

  /// The path of an origin-form or absolute-form target, without the query.
  static func path(of target: String) -> String {
    var rest = target[...]
    if let scheme = ["http://", "https://"].first(where: { target.lowercased().hasPrefix($0) }) {
      rest = rest.dropFirst(scheme.count).drop { $0 != "/" }
    }
    return String(rest.prefix { $0 != "?" })
  }
}

extension FaultServerSnapshot.Counters {
  fileprivate mutating func restart() {
    bytes = 0
    requests = 0
    maximumInProgress = inProgress
  }
}

extension FaultServerState.Values {
  fileprivate mutating func edit(_ number: Int, _ body: (inout RequestRecord) -> Void) {
    let index = number - firstNumber
    guard snapshot.requests.indices.contains(index) else { return }
    body(&snapshot.requests[index])
  }
}

extension FaultServerState.Values {
  /// The resource that a path belongs to: its own, or else the directory that takes uploads.
  fileprivate func resourcePath(of path: String) -> String {
    if entries[path] != nil { return path }
    return entries.values.first { $0.uploads != nil && path.hasPrefix($0.resource.path) }?
      .resource.path ?? path
  }

  fileprivate func request(_ number: Int) -> RequestRecord? {
    let index = number - firstNumber
    return snapshot.requests.indices.contains(index) ? snapshot.requests[index] : nil
  }
}

extension FaultServerState.Entry {
  /// The actions of all faults that match the request; counts the matches.
  fileprivate mutating func takeActions(_ facts: RequestFacts) -> [Fault.Action] {
    var actions: [Fault.Action] = []
    for (index, fault) in resource.faults.enumerated()
    where facts.satisfies(fault.match, length: resource.length) {
      let earlier = matched[index] - (fault.match.skip ?? 0)
      matched[index] += 1
      if earlier >= 0, earlier < fault.match.times ?? .max { actions += fault.actions }
    }
    return actions
  }
}

// MARK: Waiting

extension FaultServerState {
  /// Completes the promise when the condition is met. The id is for `stopWaiting`.
  func wait(
    _ promise: EventLoopPromise<Void>,
    until holds: @escaping @Sendable (FaultServerSnapshot) -> Bool
  ) -> Int {
    change { values in
      let id = values.nextWaiter
      values.nextWaiter += 1
      values.waiters.append(Waiter(id: id, holds: holds, promise: promise))
      return id
    }
  }

  /// Removes a waiter; false if it was already woken.
  func stopWaiting(_ id: Int) -> Bool {
    values.withLockedValue { values in
      let count = values.waiters.count
      values.waiters.removeAll { $0.id == id }
      return values.waiters.count < count
    }
  }
}

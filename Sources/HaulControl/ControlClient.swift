import AsyncHTTPClient
import FoundationEssentials
package import HaulCore
import HaulLibC
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1

/// Calls the daemon over its socket.
package struct ControlClient: Sendable {
  /// Why a call failed.
  package enum Failure: Error, Sendable {
    /// No daemon listens there.
    case notRunning
    /// The daemon refused the call.
    case refused(Problem)
    /// The connection broke, or the answer cannot be read.
    case broken(String)
  }

  private let location: ControlLocation
  private let http: HTTPClient
  /// The version of the daemon, once it has answered.
  private let version = NIOLockedValueBox<String?>(nil)
  /// A command waits for what it stops: a checkpoint may take seconds.
  private static let timeout: TimeAmount = .seconds(60)
  private static let maximumResponse = 64 << 20

  package init(_ location: ControlLocation) {
    self.location = location
    var configuration = HTTPClient.Configuration()
    // Otherwise it tries for 10 s to reach a daemon that is not there.
    configuration.connectionPool.retryConnectionEstablishment = false
    http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  /// Calls `body` with a client, and ends its connections afterwards.
  package static func with<Result>(
    _ location: ControlLocation, _ body: (ControlClient) async throws -> Result
  ) async throws -> Result {
    let client = ControlClient(location)
    do {
      let result = try await body(client)
      try await client.http.shutdown()
      return result
    } catch {
      try? await client.http.shutdown()  // the first error says more
      throw error
    }
  }

  /// Ends its connections, and what waits for an answer.
  package func close() async { try? await http.shutdown() }  // fails only if it is closed already

  /// The version of the daemon, once it has answered.
  package var daemonVersion: String? { version.withLockedValue { $0 } }

  /// The field that has it.
  package static let versionField = "Haul-Version"

  package func status() async throws(Failure) -> StatusDocument { try await get("status") }

  package func shutdown() async throws(Failure) { _ = try await send(.POST, "shutdown", NoKeys()) }

  /// Lets the daemon read `haul.conf` again.
  package func reload() async throws(Failure) -> ReloadDocument {
    try decode(try await send(.POST, "reload", NoKeys()))
  }

  /// - Parameter key: makes a repeated call find what the first one added.
  package func add(_ body: AddBody, key: String? = nil) async throws(Failure) -> AddResponse {
    try decode(try await send(.POST, "transfers", body, key: key))
  }

  package func transfer(_ name: String) async throws(Failure) -> TransferDocument {
    try await get(try Self.path(of: name))
  }

  package func details(of id: TransferID) async throws(Failure) -> DetailsDocument {
    try await get("transfers/\(id)/details")
  }

  package func change(_ name: String, _ body: ChangeBody) async throws(Failure) -> TransferDocument
  {
    try decode(try await send(.PATCH, try Self.path(of: name), body))
  }

  /// Makes one change of several transfers.
  package func change(_ body: ChangesBody) async throws(Failure) -> ChangesResponse {
    try decode(try await send(.PATCH, "transfers", body))
  }

  package func limits() async throws(Failure) -> LimitsDocument { try await get("limits") }

  package func changeLimits(_ change: LimitsDocument) async throws(Failure) -> LimitsDocument {
    try decode(try await send(.PATCH, "limits", change))
  }

  package func resetLimits() async throws(Failure) -> LimitsDocument {
    try decode(try await execute(try request(.DELETE, "limits")))
  }

  /// One page of the list.
  package func transfers(
    after id: TransferID? = nil, group: String? = nil, atMost limit: Int = 1000
  ) async throws(Failure) -> TransferPage {
    var filter = TransferFilter()
    filter.group = group
    return try await transfers(filter, after: id, atMost: limit)
  }

  /// One page of the list.
  /// - Parameter fromEnd: from the end of the list.
  package func transfers(
    _ filter: TransferFilter, after id: TransferID?, fromEnd: Bool = false, atMost limit: Int
  ) async throws(Failure) -> TransferPage {
    var query = ["limit=\(limit)"]
    if let id { query.append("after=\(id)") }
    if let group = filter.group { query.append("group=\(PercentCoding.component(group))") }
    if let host = filter.host { query.append("host=\(PercentCoding.component(host))") }
    if !filter.states.isEmpty {
      let states = TransferState.allCases.filter(filter.states.contains).map(\.rawValue)
      query.append("state=\(states.joined(separator: ","))")
    }
    if fromEnd { query.append("from=end") }
    return try await get("transfers?\(query.joined(separator: "&"))")
  }

  package func perform(_ body: CommandBody) async throws(Failure) -> CommandResponse {
    try decode(try await send(.POST, "commands", body))
  }

  /// Waits until transfers have ended or were stopped.
  package func wait(for transfers: Selection) async throws(Failure) -> WaitResponse {
    var (rest, removed, hasAnswered) = (transfers, 0, false)
    while true {
      let data: Data
      do throws(Failure) {
        data = try await send(.POST, "wait", rest)
      } catch {
        if case .notRunning = error, hasAnswered { throw .broken(Self.hasEnded) }
        throw error
      }
      hasAnswered = true
      var answer: WaitResponse = try decode(data)
      answer.removed += removed
      if answer.isSettled { return answer }
      // What was removed is not known to the next call.
      removed = answer.removed
      if rest.ids != nil { rest.ids = answer.ids.map(\.description) }
    }
  }

  /// What happens from now on, after the present state of the list.
  /// - Parameter number: of the last event that is known; nil for none.
  package func events(after number: Int? = nil) async throws(Failure) -> ControlEvents {
    var request = try request(.GET, "events")
    if let number { request.headers.add(name: "Last-Event-ID", value: "\(number)") }
    return ControlEvents(body: try await answer(to: request, deadline: .distantFuture).body)
  }

  /// An address of the web page, for one session.
  package func page(withFile: Bool) async throws(Failure) -> WebPageAddress {
    try decode(try await send(.POST, "ui", PageBody(file: withFile)))
  }

  /// The sessions of the web page.
  package func sessions() async throws(Failure) -> SessionList { try await get("sessions") }

  package func endSession(_ id: String) async throws(Failure) {
    _ = try await execute(try request(.DELETE, "sessions/\(PercentCoding.component(id))"))
  }

  package func setSuspended(_ isSuspended: Bool) async throws(Failure) {
    _ = try await send(.PATCH, "queue", QueueDocument(isSuspended: isSuspended))
  }
}

/// Requests and answers.
extension ControlClient {
  private func get<Value: Decodable>(_ path: String) async throws(Failure) -> Value {
    try decode(try await execute(try request(.GET, path)))
  }

  private func send(
    _ method: HTTPMethod, _ path: String, _ body: some Encodable, key: String? = nil
  ) async throws(Failure) -> Data {
    var request = try request(method, path)
    request.headers.add(name: "Content-Type", value: "application/json")
    if let key { request.headers.add(name: "Idempotency-Key", value: key) }
    do {
      request.body = .bytes(ByteBuffer(bytes: try StrictJSON.encode(body)))
    } catch {
      throw .broken("the request cannot be written as JSON")
    }
    return try await execute(request)
  }

  private func request(_ method: HTTPMethod, _ path: String) throws(Failure) -> HTTPClientRequest {
    var request = HTTPClientRequest(
      url: "http+unix://\(PercentCoding.component(location.socket))/api/v1/\(path)")
    request.method = method
    request.headers.add(name: "Host", value: "localhost")
    return request
  }

  private func execute(_ request: HTTPClientRequest) async throws(Failure) -> Data {
    let answer = try await answer(to: request, deadline: .now() + Self.timeout)
    do {
      return Data(try await answer.body.collect(upTo: Self.maximumResponse).readableBytesView)
    } catch {
      throw .broken("the daemon closed the connection; it may have ended (\(error))")
    }
  }

  /// The answer to a call that was not refused, before its body.
  private func answer(
    to request: HTTPClientRequest, deadline: NIODeadline
  ) async throws(Failure) -> HTTPClientResponse {
    do {
      let answer = try await http.execute(request, deadline: deadline)
      let field = answer.headers.first(name: Self.versionField)
      version.withLockedValue { $0 = field ?? $0 }
      guard answer.status.code >= 300 else { return answer }
      let status = Int(answer.status.code)
      let body = try await answer.body.collect(upTo: Self.maximumResponse)
      let problem = try? JSONDecoder().decode(Problem.self, from: Data(body.readableBytesView))
      throw Failure.refused(
        problem ?? Problem(status, "HTTP \(status)", "the daemon gave no reason"))
    } catch let failure as Failure {
      throw failure
    } catch let error as IOError {
      switch error.errnoCode {
      case ENOENT, ECONNREFUSED: throw .notRunning
      case ENOTDIR, ELOOP: throw .broken(location.unusable(error.errnoCode).message)
      default:
        throw .broken("the connection to the daemon broke: \(SystemError.text(error.errnoCode))")
      }
    } catch let error as HTTPClientError where error == .deadlineExceeded {
      throw .broken("the daemon does not answer; it may be stopped (SIGSTOP), or overloaded")
    } catch let error as HTTPClientError where error == .remoteConnectionClosed {
      throw .broken(Self.hasEnded)
    } catch {
      throw .broken("the connection to the daemon broke: \(error)")
    }
  }

  private func decode<Value: Decodable>(_ data: Data) throws(Failure) -> Value {
    do {
      return try JSONDecoder().decode(Value.self, from: data)
    } catch {
      throw .broken("the daemon's answer cannot be read; it may be of another version: restart it")
    }
  }

  private static let hasEnded = "the daemon has ended; start it with: haul daemon start"

  /// The path of one transfer. Without a name it would be that of the list.
  private static func path(of name: String) throws(Failure) -> String {
    guard !name.isEmpty else { throw .refused(.notFound("an id is empty")) }
    return "transfers/\(PercentCoding.component(name))"
  }
}

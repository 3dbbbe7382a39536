import FoundationEssentials
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// A fault server, an empty directory, and a manager on the real file system and network stack.
struct DownloadFixture: Sendable {
  let server: FaultServer
  let directory: String

  /// The result of a run.
  struct Outcome: Sendable {
    let result: TransferResult
    let events: [TransferEvent.Kind]

    /// How often the download started over with another version.
    var restarts: Int {
      events.filter { if case .phase(.restarted, _) = $0 { true } else { false } }.count
    }

    var attempts: Int {
      events.filter { if case .attempt = $0 { true } else { false } }.count
    }
  }

  /// Runs `body` with a server of these resources; removes the directory afterwards.
  static func with<Value>(
    _ resources: [FaultScript.Resource], tls: FaultServerTLS = .none, http2: Bool = false,
    _ body: (DownloadFixture) async throws -> Value
  ) async throws -> Value {
    try await withFaultServer(FaultScript(resources), tls: tls, http2: http2) { server in
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "haul-test-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: directory) }
      return try await body(DownloadFixture(server: server, directory: directory))
    }
  }

  /// A request for a path of the server into the directory, with short waits, changed by `change`.
  func request(
    _ path: String, as name: String? = nil,
    _ change: (inout DownloadRequest) throws -> Void = { _ in }
  ) throws -> DownloadRequest {
    var request = DownloadRequest(
      url: try ResourceURL(server.url(path)),
      to: name.map { .file("\(directory)/\($0)") } ?? .directory(directory))
    request.minimumSplit = 64 << 10
    try change(&request)
    return request
  }

  /// Runs one request to its end or, when `interruption` returns, pauses it there; the result is
  /// nil then. Each event is passed to `onEvent` first.
  func run(
    _ request: DownloadRequest, idleTimeout: Duration = .seconds(120),
    configure: (inout TransferManager.Configuration) -> Void = { _ in },
    onEvent: (TransferEvent.Kind) async throws -> Void = { _ in },
    interruption: (@Sendable () async throws -> Void)? = nil
  ) async throws -> Outcome? {
    try await run(
      TransferRequest(.download(request)), idleTimeout: idleTimeout, configure: configure,
      onEvent: onEvent, interruption: interruption)
  }

  /// Runs one transfer, as `run` of a download.
  func run(
    _ request: TransferRequest, idleTimeout: Duration = .seconds(120),
    configure: (inout TransferManager.Configuration) -> Void = { _ in },
    onEvent: (TransferEvent.Kind) async throws -> Void = { _ in },
    interruption: (@Sendable () async throws -> Void)? = nil
  ) async throws -> Outcome? {
    var configuration = TransferManager.Configuration()
    configuration.idleTimeout = idleTimeout
    // Under a sanitizer, with all tests at once, a handshake takes longer than the ten seconds that
    // it has.
    configuration.connectTimeout = .seconds(60)
    // As in the command line, where a blocked download fails.
    configuration.waitsForDisk = false
    configuration.waitsForNetwork = false
    if server.tls != .none { configuration.certificateAuthorities = try authorityFile() }
    configure(&configuration)
    let manager = try TransferManager(configuration)
    let stream = manager.events()
    let interrupter = Task {
      guard let interruption else { return }
      try await interruption()
      await manager.pauseAll(by: .signal)
    }
    var kinds: [TransferEvent.Kind] = []
    var result: TransferResult?
    do {
      try await manager.add(request)
      events: for await event in stream {
        kinds.append(event.kind)
        try await onEvent(event.kind)
        switch event.kind {
        case .finished(let end):
          result = end
          break events
        case .paused: break events
        default: break
        }
      }
    } catch {
      interrupter.cancel()
      await manager.shutdown()
      throw error
    }
    interrupter.cancel()
    _ = await interrupter.result
    await manager.shutdown()
    return result.map { Outcome(result: $0, events: kinds) }
  }

  /// Runs one request to its end.
  func finish(
    _ request: DownloadRequest, idleTimeout: Duration = .seconds(120),
    onEvent: (TransferEvent.Kind) async throws -> Void = { _ in }
  ) async throws -> Outcome {
    try #require(try await run(request, idleTimeout: idleTimeout, onEvent: onEvent))
  }

  func authorityFile() throws -> String {
    let path = "\(directory)/authority.pem"
    try server.certificateAuthorityPEM.write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }

  func contents(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(filePath: "\(directory)/\(name)")))
  }

  /// Whether the file equals the content of that seed and length, byte for byte.
  func isWhole(_ name: String, seed: UInt64, length: Int) throws -> Bool {
    let bytes = try contents(name)
    return bytes.count == length && SeededContent.matches(seed: seed, bytes, at: 0)
  }

  /// The names in the directory, sorted.
  func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory)
      .filter { $0 != "authority.pem" }.sorted()
  }
}

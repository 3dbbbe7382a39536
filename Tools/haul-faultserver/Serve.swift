import ArgumentParser
import Dispatch
import FoundationEssentials
import HaulLibC
import HaulTesting

struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Serves until SIGTERM; prints {\"port\":N} when ready.")

  @Option(help: "The script of resources and faults.")
  var script: String?

  @Option(name: .customLong("file"), help: "A well-behaved resource: PATH:SEED:LENGTH[:RATE].")
  var files: [FileOption] = []

  @Option(help: "The port; 0 for any.")
  var port = 0

  @Option(help: "none, good, expired, selfSigned, wrongHost, tls11Only or tls12Only.")
  var tls = FaultServerTLS.none

  @Flag(name: .customLong("http2"), help: "Uses HTTP/2 over TLS with clients that support it.")
  var http2 = false

  @Option(help: "The file for the certificate authority, written as PEM.")
  var caOut: String?

  @Option(help: "Threads that serve.")
  var threads = 1

  func run() async throws {
    var script = FaultScript()
    if let path = self.script {
      script = try FaultScript(json: try Data(contentsOf: URL(filePath: path)))
    }
    script.resources += files.map(\.resource)
    let termination = TerminationSignals()
    let server = try await FaultServer.start(
      script, tls: tls, port: port, threads: threads, http2: http2)
    if let caOut {
      try Data(server.certificateAuthorityPEM.utf8).write(to: URL(filePath: caOut))
    }
    try StandardOutput.writeLine(Listening(port: server.port))
    await termination.waitForFirst()
    try await server.shutdown()
  }
}

/// Catches SIGTERM and SIGINT from the creation of this value on.
struct TerminationSignals {
  private let signals: AsyncStream<Void>
  private let sources: [any DispatchSourceSignal]

  init() {
    let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
    self.signals = signals
    sources = [SIGTERM, SIGINT].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { continuation.yield() }
      source.resume()
      return source
    }
  }

  /// Returns at the first signal.
  func waitForFirst() async {
    for await _ in signals { break }
    sources.forEach { $0.cancel() }
  }
}

extension FaultServerTLS: ExpressibleByArgument {}

/// `PATH:SEED:LENGTH[:RATE]`.
struct FileOption: ExpressibleByArgument {
  let resource: FaultScript.Resource

  init?(argument: String) {
    let parts = argument.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3 || parts.count == 4, parts[0].hasPrefix("/"),
      let seed = UInt64(parts[1]), let length = Int64(parts[2]), length >= 0
    else { return nil }
    var resource = FaultScript.Resource(String(parts[0]), seed: seed, length: length)
    if parts.count == 4 {
      guard let rate = Int64(parts[3]), rate > 0 else { return nil }
      resource.rate = rate
    }
    self.resource = resource
  }
}

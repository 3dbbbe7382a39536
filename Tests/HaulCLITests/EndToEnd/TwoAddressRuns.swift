import Foundation
import HaulCore
import HaulLibC
import HaulTesting
import Testing

/// A host with two addresses, of which the first is dead. IPv6 is tried first (RFC 8305), and the
/// server is on 127.0.0.1.
@Suite(
  .serialized, .timeLimit(.minutes(10)),
  .enabled("needs the right to mount and IPv6 on the loopback") { await OwnHosts.isPossible() })
struct TwoAddressRuns {
  @Test func `Case 50: a first address that refuses costs no attempt`() async throws {
    try await CommandFixture.with(CommandFixture.file()) { fixture in
      let dead = try await OwnHosts.get(["::1"], in: fixture, "--retries", "0")
      try dead.expectFailed(.connect)
      #expect(fixture.server.snapshot.requests.isEmpty)
      try await expectWhole(fixture)
    }
  }

  @Test func `Case 50: a first address that does not answer costs no attempt`() async throws {
    for _ in 0..<8 {
      let isDone = try await CommandFixture.with(CommandFixture.file()) { fixture in
        // Another program may use the port there.
        guard let silent = SilentPort(fixture.server.port) else { return false }
        defer { silent.release() }
        let before = try SilentPort.droppedConnections()
        try await expectWhole(fixture)
        #expect(try SilentPort.droppedConnections() > before, "it was not tried first")
        return true
      }
      if isDone { return }
    }
    Issue.record("no port is free on both addresses")
  }

  private func expectWhole(_ fixture: CommandFixture) async throws {
    let result = try await OwnHosts.get(["::1", "127.0.0.1"], in: fixture, "--retries", "0")
    #expect(result.status == 0, "\(result.errors)")
    #expect(try result.events().of("attempt").isEmpty)
    try fixture.expectWhole()
    let hosts = Set(fixture.server.snapshot.requests.map { $0.header("Host") })
    #expect(hosts == ["\(OwnHosts.name):\(fixture.server.port)"])
  }
}

/// Runs `haul` with its own `/etc/hosts`, in a mount namespace.
private enum OwnHosts {
  static let name = "two-addresses.test"
  private static let unshare = "/usr/bin/unshare"

  static func get(
    _ addresses: [String], in fixture: CommandFixture, _ options: String...
  ) async throws -> CommandResult {
    let hosts = fixture.path("../hosts-\(UUID().uuidString)")
    // Files that a test leaves in the temporary directory are no failure.
    defer { try? FileManager.default.removeItem(atPath: hosts) }
    let lines = addresses.map { "\($0) \(name)\n" }.joined()
    try lines.write(toFile: hosts, atomically: true, encoding: .utf8)
    let url = fixture.server.url("/file.bin", host: name)
    let arguments = [CommandRun.executable.path, "get", "--json", url] + options
    return try await run(arguments, hosts: hosts, in: fixture.directory)
  }

  private static func run(
    _ arguments: [String], hosts: String, in directory: String
  ) async throws -> CommandResult {
    let script = #"mount --bind "$0" /etc/hosts && exec "$@""#
    let rights = geteuid() == 0 ? "-m" : "-rm"
    return try await CommandRun(
      [rights, "/bin/sh", "-c", script, hosts] + arguments, in: directory, program: unshare
    ).end()
  }

  static func isPossible() async -> Bool {
    guard FileManager.default.isExecutableFile(atPath: unshare), let port = SilentPort(0) else {
      return false
    }
    port.release()
    let directory = FileManager.default.temporaryDirectory.path
    // If this cannot run, the tests are skipped.
    let result = try? await run(["/bin/true"], hosts: "/etc/hosts", in: directory)
    return result?.status == 0
  }
}

/// A port of ::1 with a full queue: the system drops other connections silently.
private struct SilentPort {
  private let descriptors: [Int32]

  init?(_ port: Int) {
    let type = Int32(SOCK_STREAM.rawValue)
    let (listener, guest) = (socket(AF_INET6, type, 0), socket(AF_INET6, type, 0))
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    inet_pton(AF_INET6, "::1", &address.sin6_addr)
    address.sin6_port = in_port_t(port).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let isFull = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, size) == 0 && listen(listener, 0) == 0
          && getsockname(listener, address, &size) == 0 && connect(guest, address, size) == 0
      }
    }
    descriptors = [listener, guest]
    guard isFull else {
      release()
      return nil
    }
  }

  func release() { for descriptor in descriptors { _ = close(descriptor) } }

  /// The number of connections that this machine dropped because of a full queue.
  static func droppedConnections() throws -> Int {
    let text = try String(contentsOfFile: "/proc/net/netstat", encoding: .utf8)
    let rows = text.split(separator: "\n").filter { $0.hasPrefix("TcpExt:") }
      .map { $0.split(separator: " ") }
    let column = try #require(rows.first?.firstIndex(of: "ListenDrops"))
    let counts = try #require(rows.last)
    return try #require(Int(counts[column]))
  }
}

import Foundation
import HaulLibC
import HaulTesting
import Testing

/// The socket of a proxy, to which other users of the machine connect too.
@Suite(.timeLimit(.minutes(10)))
struct ProxyUserRuns {
  private static let (curl, setpriv) = ("/usr/bin/curl", "/usr/bin/setpriv")
  private static let proxy = 65_533

  /// Whether other users reach files of a test.
  private static var isPossible: Bool {
    guard geteuid() == 0, [curl, setpriv].allSatisfy(FileManager.default.isExecutableFile) else {
      return false
    }
    var place = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
    while place.path != "/" {
      let attributes = try? FileManager.default.attributesOfItem(atPath: place.path)
      guard let mode = attributes?[.posixPermissions] as? Int, mode & 0o001 != 0 else {
        return false
      }
      place.deleteLastPathComponent()
    }
    return true
  }

  @Test(.enabled(if: isPossible, "needs the superuser, curl, and a directory open to others"))
  func `X-Forwarded-For counts from the user of the proxy only`() async throws {
    try await DaemonFixture.with { (fixture) async throws in
      try ProxyFixture.setPassword(fixture)
      let socket = fixture.work.path("p.sock")
      let serving = try await fixture.serve(
        "--listen", "unix:\(socket)", "--public-url", "https://nas.test/", "--proxy-user",
        "\(Self.proxy)")
      try await serving.reach("it listened") { _, errors in errors.contains("on unix:") }
      func status(as user: Int, from address: String) async throws -> String {
        try await CommandRun(
          [
            "--reuid", "\(user)", "--clear-groups", Self.curl, "-s", "-o", "/dev/null", "-w",
            "%{http_code}", "--unix-socket", socket, "-H", ProxyFixture.origin, "-H",
            "X-Forwarded-For: \(address)", "-d", "password=wrong", "http://nas.test/login",
          ], in: fixture.work.directory, program: Self.setpriv
        ).end().output
      }
      for number in 1...3 {
        #expect(try await status(as: 65_534, from: "192.0.2.\(number)") == "403")
      }
      // Each wrong one doubles the time in which the next one is refused, until it is longer than
      // a command takes to start.
      var number = 4
      while try await status(as: 65_534, from: "192.0.2.\(number)") != "429" {
        number += 1
        try #require(number < 16, "one limit for the user")
      }
      for number in 1...5 {
        #expect(try await status(as: Self.proxy, from: "192.0.2.\(number)") == "403")
      }
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      let log = await serving.end().errors
      #expect(log.contains("was sent from the user 65534 of this machine"), "\(log)")
      #expect(log.contains("was sent from 192.0.2.5"), "\(log)")
    }
  }
}

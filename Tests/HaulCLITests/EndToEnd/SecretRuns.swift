import Foundation
import HaulTestSupport
import Testing

@Suite("Secrets", .serialized, .timeLimit(.minutes(5))) struct SecretRuns {
  private static let canaries = [
    "canary-header", "canary-user", "canary-password", "canary-query",
    Data("canary-user:canary-password".utf8).base64EncodedString(),
  ]

  private func arguments(_ place: Workplace, _ options: [String]) -> [String] {
    let address = place.server.url("/file.bin").replacingOccurrences(
      of: "://", with: "://canary-user:canary-password@")
    return ["get", "\(address)?token=canary-query", "-x", "1", "-H", "X-Api-Key: canary-header"]
      + options
  }

  private func expectNone(
    _ result: CommandResult, _ place: Workplace,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    var texts = [("output", result.output), ("errors", result.errors)]
    for name in try place.names() {
      texts.append(("name", name))
      // The file itself is the server's and random.
      if name.hasSuffix(".journal") {
        texts.append((name, String(decoding: try place.contents(name), as: UTF8.self)))
      }
    }
    for (what, text) in texts {
      for canary in Self.canaries {
        #expect(!text.contains(canary), "\(canary) in \(what)", sourceLocation: sourceLocation)
      }
    }
  }

  @Test(
    "None is in an output, a log, a file's name or the journal, however the run ends",
    arguments: [["-v"], ["--json", "-v"], ["--json"]])
  func nowhere(options: [String]) async throws {
    try await Workplace.with(Workplace.file("/file.bin", .always(.stall(after: 1 << 20)))) {
      place in
      let command = arguments(place, options)
      let held = try await CommandRun(command, in: place.directory)
      try await place.server.waitForHeld("/file.bin")
      let request = try #require(place.server.snapshot.requests.last)
      #expect(request.target.contains("canary-query"))
      #expect(request.header("X-Api-Key") == "canary-header")
      #expect(request.header("Authorization") == "Basic \(Self.canaries[4])")
      held.send(SIGINT)
      let interrupted = await held.end()
      #expect(interrupted.status == 130)
      try expectNone(interrupted, place)

      for fault: Fault.Action in [
        .status(404), .redirect(location: "http://127.0.0.1:1/x?token=canary-query"),
        .redirect(location: "file:///canary-query"), .reset(after: 0),
      ] {
        place.server.setFaults("/file.bin", [Fault(fault)])
        let failed = try await place.haul(command + ["--retries", "1"])
        #expect(failed.status == 1)
        try expectNone(failed, place)
      }
      place.server.setFaults("/file.bin", [])
      let completed = try await place.haul(command)
      #expect(completed.status == 0)
      try expectNone(completed, place)
      try place.expectWhole()
    }
  }

  @Test(
    "None is in the message about an address or a field that cannot be read",
    arguments: [
      ["get", "canary-user:canary-password@h/x?canary-query"],
      ["get", "ftp://canary-user:canary-password@h/x?canary-query"],
      ["get", "http://h/x", "-H", "canary-header"],
      ["get", "http://h/x", "-H", "X-Api-Key: canary-header\nX: y"],
      ["get", "http://canary-user:canary-password@h:99999/?canary-query"],
    ])
  func usage(arguments: [String]) async throws {
    try await Workplace.with(Workplace.file()) { place in
      let result = try await place.haul(arguments)
      #expect(result.status == 2)
      #expect(result.failures.count == 1, "\(result.errors)")
      try expectNone(result, place)
    }
  }
}

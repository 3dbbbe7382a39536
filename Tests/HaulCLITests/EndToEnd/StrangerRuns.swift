import Foundation
import HaulControl
import HaulLibC
import HaulTesting
import Testing

/// What clients without a token cost a real daemon, and those with one.
@Suite(.timeLimit(.minutes(10)))
struct StrangerRuns {
  private struct Port {
    let number: Int
    let token: String

    var host: String { "Host: 127.0.0.1:\(number)" }

    func connection() throws -> FileHandle { try SocketCall.connection(to: .port(number)) }

    func send(_ lines: [String], on connection: FileHandle) throws {
      try connection.write(contentsOf: Data((lines + ["", ""]).joined(separator: "\r\n").utf8))
    }

    /// Asks for the status on a connection that stays open.
    func status(on connection: FileHandle) throws -> String {
      try get("/api/v1/status", ["Authorization: Bearer \(token)"], until: "}", on: connection)
    }

    /// The answer, up to its end.
    func get(
      _ path: String, _ fields: [String], until end: String, on connection: FileHandle
    ) throws -> String {
      try send(["GET \(path) HTTP/1.1", host] + fields, on: connection)
      var answer = ""
      while !answer.hasSuffix(end) {
        let data = connection.availableData
        try #require(!data.isEmpty, "\(answer)")
        answer += String(decoding: data, as: UTF8.self)
      }
      return answer
    }
  }

  private func withPort(_ body: (Port) async throws -> Void) async throws {
    try await DaemonFixture.with { fixture in
      let serving = try await fixture.serve("--listen", "127.0.0.1:0")
      try await serving.reach("it listened") { _, errors in errors.contains("of 127.0.0.1") }
      let number = serving.firstError(matching: /listening on port (\d+)/)
      let token = try String(contentsOfFile: try fixture.location().token, encoding: .utf8)
      try await body(
        Port(
          number: try #require(number.flatMap { Int($0) }),
          token: token.trimmingCharacters(in: .newlines)))
    }
  }

  private func isOpen(_ connection: FileHandle) -> Bool {
    var byte: UInt8 = 0
    let count = recv(connection.fileDescriptor, &byte, 1, Int32(MSG_DONTWAIT))
    return count == -1 && errno == EAGAIN
  }

  @Test
  func `their bodies are refused before they are sent, and the connection is closed`() async throws
  {
    try await withPort { (port) async throws in
      let origin = "Origin: http://127.0.0.1:\(port.number)"
      let cases: [(path: String, field: String, status: Int)] = [
        ("session", "Content-Length: 1025", 413), ("session", "Content-Length: 16777216", 413),
        ("session", "Transfer-Encoding: chunked", 413),
        ("transfers", "Content-Length: 2", 401), ("transfers", "Transfer-Encoding: chunked", 401),
      ]
      for (path, field, status) in cases {
        let connection = try port.connection()
        try port.send(
          [
            "POST /api/v1/\(path) HTTP/1.1", port.host, origin, "Content-Type: application/json",
            field,
          ], on: connection)
        let answer = try SocketCall(readingFrom: connection)
        #expect(answer.status == status, "\(path) \(field)")
        #expect(answer.head.lowercased().contains("connection: close"))
      }
      let small = try SocketCall(
        "POST", "/api/v1/session", [port.host, origin, "Content-Type: application/json"],
        body: #"{"code":"0"}"#, at: .port(port.number))
      #expect(small.status == 403)
    }
  }

  @Test(arguments: [(1, 17 << 10), (101, 1)])
  func `a head has at most 16 KiB and 100 fields`(fields: Int, length: Int) async throws {
    try await withPort { (port) async throws in
      let more = (0..<fields).map { "X-\($0): \(String(repeating: "a", count: length))" }
      let answer = try SocketCall("GET", "/", [port.host] + more, at: .port(port.number))
      #expect(answer.status == 400)
    }
  }

  @Test
  func `their connections take the place of each other, and not of a client's`() async throws {
    try await withPort { (port) async throws in
      let client = try port.connection()
      #expect(try port.status(on: client).hasPrefix("HTTP/1.1 200 "))
      let idle = try (0..<300).map { _ in try port.connection() }
      #expect(try port.status(on: try port.connection()).hasPrefix("HTTP/1.1 200 "))
      #expect(try port.status(on: client).hasPrefix("HTTP/1.1 200 "), "it is still open")
      #expect(try idle[0].readToEnd() == nil, "the oldest was closed")
      #expect(isOpen(idle[299]))
    }
  }

  @Test func `they get the files of the page on a connection that stays open`() async throws {
    try await withPort { (port) async throws in
      let connection = try port.connection()
      for _ in 0..<2 {
        let answer = try port.get("/", [], until: "</html>\n", on: connection)
        #expect(answer.hasPrefix("HTTP/1.1 200 "))
      }
      try port.send(["GET / HTTP/1.1", port.host, "Connection: close"], on: connection)
      #expect(try SocketCall(readingFrom: connection).status == 200)
    }
  }
}

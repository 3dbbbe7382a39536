import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// The control interface of a real daemon, call by call.
@Suite(.timeLimit(.minutes(10)))
struct ControlAPIRuns {
  private static let json = ["Host: localhost", "Content-Type: application/json"]

  private func withDaemon(_ body: (DaemonFixture, _ socket: String) async throws -> Void)
    async throws
  {
    try await DaemonFixture.with(CommandFixture.file()) { fixture in
      #expect(try await fixture.haul("daemon", "start").status == 0)
      try await body(fixture, try fixture.location().socket)
    }
  }

  @Test func `adds once for one idempotency key, and pages through the list`() async throws {
    try await withDaemon { fixture, socket in
      _ = try await fixture.haul("suspend")
      let transfers = (0..<5).map {
        #"{"url":"\#(fixture.work.server.url("/file.bin"))","file":"/tmp/never-\#($0)"}"#
      }
      let body = #"{"transfers":[\#(transfers.joined(separator: ","))]}"#
      let fields = Self.json + ["Idempotency-Key: one"]
      let first = try SocketCall("POST", "/api/v1/transfers", fields, body: body, to: socket)
      let again = try SocketCall("POST", "/api/v1/transfers", fields, body: body, to: socket)
      #expect(first.status == 201)
      #expect(again.body == first.body)
      var (ids, query): ([TransferID], String) = ([], "limit=2")
      while true {
        let call = try SocketCall("GET", "/api/v1/transfers?\(query)", to: socket)
        let page = try JSONDecoder().decode(TransferPage.self, from: Data(call.body.utf8))
        ids += page.transfers.map(\.id)
        guard let next = page.next else { break }
        query = "limit=2&after=\(next)"
      }
      let added = try JSONDecoder().decode(AddResponse.self, from: Data(first.body.utf8))
      #expect(ids == added.ids)
      #expect(try await fixture.haul("remove", "--all").status == 0)
    }
  }

  @Test(arguments: [
    #""retries":-1"#, #""rate_limit":-1"#, #""starts_at":-1"#,
    #""maximum_size":-1"#, #""maximum_retry_time":-1"#, #""identifier":"" "#,
    #""group":"" "#, #""headers":[{"name":"A","value":"b\r\nC: d"}]"#,
    #""headers":[{"name":"A b","value":"c"}]"#, #""headers":[{"name":"Host","value":"c"}]"#,
  ])
  func `refuses values that no transfer can have`(member: String) async throws {
    try await withDaemon { _, socket in
      let body = #"{"transfers":[{"url":"http://h/x","file":"/tmp/never",\#(member)}]}"#
      let call = try SocketCall("POST", "/api/v1/transfers", Self.json, body: body, to: socket)
      #expect(call.status == 422, "\(call.body)")
    }
  }

  @Test func `an idempotency key belongs to its body: another body is another call`() async throws {
    try await withDaemon { fixture, socket in
      _ = try await fixture.haul("suspend")
      let fields = Self.json + ["Idempotency-Key: one"]
      func add(_ name: String) throws -> String {
        let url = fixture.work.server.url("/file.bin")
        let body = #"{"transfers":[{"url":"\#(url)","file":"/tmp/never-\#(name)"}]}"#
        return try SocketCall("POST", "/api/v1/transfers", fields, body: body, to: socket).body
      }
      let first = try add("a")
      #expect(try add("b") != first)
      #expect(try add("a") == first)
      #expect(try await fixture.haul("list", "--json").output.split(separator: "\n").count == 2)
      _ = try await fixture.haul("remove", "--all")
    }
  }

  @Test
  func `another server does not get the header fields of a transfer; its own does`() async throws {
    try await withDaemon { fixture, socket in
      _ = try await fixture.haul("suspend")
      let url = fixture.work.server.url("/file.bin")
      let ids = [
        try await fixture.add("/file.bin", "-H", "X-Key: secret", "-o", "moved"),
        try await fixture.add("/file.bin", "-H", "X-Key: secret", "-o", "renewed"),
      ]
      let other = url.replacingOccurrences(of: "127.0.0.1", with: "localhost")
      #expect(try await fixture.haul("set", ids[0], "--url", other + "?moved").status == 0)
      #expect(try await fixture.haul("set", ids[1], "--url", url + "?renewed").status == 0)
      _ = try await fixture.haul("unsuspend")
      #expect(try await fixture.haul("wait", "--all").status == 0)
      let requests = fixture.work.server.snapshot.requests
      #expect(requests.count >= 2)
      for request in requests {
        #expect((request.header("X-Key") == nil) == request.target.hasSuffix("?moved"))
      }
    }
  }

  @Test
  func `its metrics are those of Prometheus: transfers, bytes, retries, durations of calls`()
    async throws
  {
    try await withDaemon { fixture, socket in
      fixture.work.server.setFaults("/file.bin", [Fault(.status(503), when: .request(1))])
      let id = try await fixture.add("/file.bin")
      #expect(try await fixture.haul("wait", id).status == 0)
      let call = try SocketCall("GET", "/metrics", to: socket)
      #expect(call.status == 200)
      #expect(call.head.contains("text/plain; version=0.0.4"))
      let lines = Set(call.body.split(separator: "\n").map(String.init))
      for line in [
        "# TYPE haul_transfers gauge", #"haul_transfers{state="completed"} 1.0"#,
        #"haul_transfers{state="running"} 0.0"#, "# TYPE haul_received_bytes_total counter",
        "haul_received_bytes_total \(CommandFixture.length)", "haul_retries_total 1",
        #"haul_ended_total{state="completed"} 1"#, "haul_rate_bytes_per_second 0.0",
        "# TYPE haul_request_duration_seconds summary",
      ] { #expect(lines.contains(line), "\(line) is not in \(call.body)") }
      let route = #"{method="POST",route="/api/v1/transfers",status="201"} 1"#
      #expect(lines.contains("haul_request_duration_seconds_count\(route)"))
    }
  }

  @Test func `serves its own description, and the schema to which that refers`() async throws {
    try await withDaemon { _, socket in
      for name in ["openapi.yaml", "schema/events.json"] {
        let call = try SocketCall("GET", "/api/v1/\(name)", to: socket)
        #expect(call.status == 200)
        #expect(try call.body == DocumentPage.text("docs/\(name)"))
      }
    }
  }

  static let refused:
    [(method: String, path: String, fields: [String], body: String?, status: Int)] = [
      ("GET", "/api/v1/nothing", ["Host: localhost"], nil, 404),
      ("GET", "/api/v1/transfers/ZZZZZZZZ", ["Host: localhost"], nil, 404),
      ("GET", "/api/v1/transfers?limit=0", ["Host: localhost"], nil, 400),
      ("GET", "/api/v1/transfers?limits=1", ["Host: localhost"], nil, 400),
      ("GET", "/api/v1/transfers?limit=1&limit=2", ["Host: localhost"], nil, 400),
      ("GET", "/api/v1/status", ["Host: evil.example"], nil, 421),
      ("GET", "/api/v1/status", ["Host: localhost", "Host: localhost"], nil, 400),
      ("GET", "http://evil.example/api/v1/status", ["Host: localhost"], nil, 400),
      ("GET", "/api/v1/status", ["Host: localhost", "Origin: null"], nil, 403),
      ("GET", "/api/v1/status", ["Host: localhost", "Origin: http://localhost"], nil, 403),
      ("GET", "/api/v1/status", ["Host: localhost", "Sec-Fetch-Site: cross-site"], nil, 403),
      ("GET", "/api/v1/nothing", ["Host: localhost", "Origin: http://evil"], nil, 403),
      ("OPTIONS", "/api/v1/status", ["Host: localhost", "Origin: http://evil"], nil, 403),
      ("POST", "/api/v1/transfers", ["Host: localhost", "Content-Type: text/plain"], "{}", 415),
      ("POST", "/api/v1/shutdown", ["Host: localhost"], "{}", 415),
      ("POST", "/api/v1/shutdown", json, #"{"x":1}"#, 400),
      ("GET", "/api/v1/status?x=1", ["Host: localhost"], nil, 400),
      ("POST", "/api/v1/transfers?x=1", json, #"{"transfers":[]}"#, 400),
      ("POST", "/api/v1/transfers", json, "{", 400),
      ("POST", "/api/v1/transfers", json, #"{"transfers":[]}"#, 400),
      ("POST", "/api/v1/transfers", json, #"{"transfers":[{"urls":1}]}"#, 400),
      ("POST", "/api/v1/transfers", json, #"{"transfers":[{"url":"ftp://h/x","file":"/x"}]}"#, 422),
      ("POST", "/api/v1/transfers", json, #"{"transfers":[{"url":"http://h/x","file":"x"}]}"#, 422),
      ("POST", "/api/v1/commands", json, #"{"command":"explode","transfers":{"all":true}}"#, 400),
      ("POST", "/api/v1/commands", json, #"{"command":"pause","transfers":{}}"#, 400),
      (
        "POST", "/api/v1/commands", json,
        #"{"command":"pause","transfers":{"all":true},"force":true}"#, 400
      ),
      (
        "POST", "/api/v1/commands", json,
        #"{"command":"pause","transfers":{"all":true,"group":"g"}}"#, 400
      ),
      ("POST", "/api/v1/commands", json, #"{"command":"pause","transfers":{"ids":["ZZ"]}}"#, 404),
      ("POST", "/api/v1/commands", json, #"{"command":"move","transfers":{"all":true}}"#, 400),
      ("PATCH", "/api/v1/queue", json, #"{"is_suspended":1}"#, 400),
      ("PATCH", "/api/v1/notices", json, #"{"seen_up_to":-1}"#, 400),
      ("PATCH", "/api/v1/notices", json, #"{"seen":1}"#, 400),
      ("PATCH", "/api/v1/notices", ["Host: localhost"], #"{"seen_up_to":1}"#, 415),
    ]

  @Test func `refuses what it does not document, with a problem and without CORS`() async throws {
    try await withDaemon { _, socket in
      for call in Self.refused {
        let answer = try SocketCall(
          call.method, call.path, call.fields, body: call.body, to: socket)
        #expect(answer.status == call.status, "\(call): \(answer.body)")
        #expect(!answer.head.lowercased().contains("access-control"), "\(call)")
        let problem = try? JSONDecoder().decode(Problem.self, from: Data(answer.body.utf8))
        #expect(problem?.status == call.status, "\(call): \(answer.body)")
      }
    }
  }

  @Test func `shows no secret of a request, and logs none`() async throws {
    try await withDaemon { fixture, socket in
      let (password, token, bearer) = (
        "canary-pass", "canarytokencanarytokencanarytoken", "canary-bearer"
      )
      let url =
        fixture.work.server.url("/file.bin")
        .replacingOccurrences(of: "://", with: "://user:\(password)@") + "?token=\(token)"
      let added = try await fixture.haul("add", url, "-H", "Authorization2: \(bearer)", "-o", "x")
      #expect(added.status == 0, "\(added.errors)")
      #expect(try await fixture.haul("wait", "--all").status == 0)
      var texts = [added.output, added.errors]
      for command in [["list"], ["list", "--json"], ["show", "x"], ["daemon", "status"]] {
        let result = try await fixture.work.haul(command, environment: fixture.environment)
        texts += [result.output, result.errors]
      }
      texts.append(try SocketCall("GET", "/api/v1/transfers", to: socket).body)
      texts.append(try String(contentsOfFile: try fixture.location().log, encoding: .utf8))
      for text in texts {
        for secret in [password, token, bearer] { #expect(!text.contains(secret), "\(text)") }
      }
    }
  }
}

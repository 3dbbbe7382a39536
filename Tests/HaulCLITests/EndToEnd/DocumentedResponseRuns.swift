import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// Gets every answer that docs/openapi.yaml has from a real daemon.
@Suite(.timeLimit(.minutes(10)))
struct DocumentedResponseRuns {
  private struct Answer {
    let method: String
    let path: String
    let status: Int

    var name: String { "\(method) \(path) \(status)" }
  }

  /// Those that no call here gets, and why.
  private static let elsewhere: [String: String] = [
    "GET /events 200": "it does not end: EventStreamRuns",
    "POST /ui 503": "no port is free, or the daemon is ending",
    "POST /reload 409": "another one is reading the file",
    "POST /reload 422": "a line of haul.conf is wrong: ReloadRuns",
    "POST /reload 500": "the certificate cannot be read: ReloadRuns",
    "POST /transfers 503": "the daemon is ending",
    "POST /probe 503": "eight servers are being asked",
    "POST /probe 504": "the server does not answer in 20 s",
    "PATCH /transfers/{id} 503": "the daemon is ending",
    "PATCH /transfers 503": "the daemon is ending",
    "POST /commands 503": "the daemon is ending",
    "PATCH /queue 507": "it writes an empty file, for which a full tmpfs has room",
  ]

  /// A suspended daemon with some transfers.
  private struct Served {
    let socket: String
    let port: Int
    let url: String
    /// The ids of the transfers.
    let ids: [String]
    /// The id of a session of the page.
    var session = ""

    /// With a new code.
    func page() throws -> WebPage {
      let page = try SocketCall(
        "POST", "/api/v1/ui", ["Host: localhost", DocumentedResponseRuns.json], body: "{}",
        to: socket)
      let code = try #require(page.body.firstMatch(of: /#code=([0-9a-f]+)/)).1
      return WebPage(port: port, code: String(code))
    }

    /// The first character of two ids: there are 32 characters, and more ids.
    var ambiguous: String {
      Dictionary(grouping: ids) { String($0.prefix(1)) }.first { $1.count > 1 }?.key ?? ""
    }
  }

  private static let json = "Content-Type: application/json"
  private static let tooLong = String(repeating: " ", count: (16 << 20) + 1)

  private static func documented() throws -> [Answer] {
    var (path, method, answers): (String, String, [Answer]) = ("", "", [])
    for line in try DocumentPage.text("docs/openapi.yaml").components(separatedBy: "\n") {
      if line == "components:" { break }
      if let match = line.wholeMatch(of: /\ {2}(\/\S*):/) { path = String(match.1) }
      if let match = line.wholeMatch(of: /\ {4}(get|post|patch|put|delete):/) {
        method = match.1.uppercased()
      }
      if let match = line.prefixMatch(of: /\ {8}"(\d+)":/), let status = Int(match.1) {
        answers.append(Answer(method: method, path: path, status: status))
      }
    }
    return answers
  }

  @Test func `Each is given by a call`() async throws {
    let documented = try Self.documented()
    let names = Set(documented.map(\.name))
    #expect(documented.count > 140 && names.count == documented.count)
    #expect(names.isSuperset(of: Self.elsewhere.keys))
    let ending = documented.filter { $0.name == "POST /shutdown 202" }
    #expect(ending.count == 1)
    try await DaemonFixture.withFiles(["/a"]) { (fixture) async throws in
      let run = try await fixture.serve("--listen", "127.0.0.1:0", "--root", fixture.work.directory)
      let served = try await prepare(fixture, run)
      var subscribers: [FileHandle] = []
      for answer in documented where answer.status != 507 && answer.name != ending.first?.name {
        if answer.name == "GET /events 503" {
          subscribers = try (0..<64).map { _ in
            try SocketCall.begin("/api/v1/events", until: ": haul", to: served.socket)
          }
        }
        try expect(answer, served)
      }
      #expect(subscribers.count == 64)
      for answer in ending { try expect(answer, served) }
      #expect(await run.end().status == 0)
    }
  }

  @Test(.enabled(if: SmallDisk.isPossible, "mounting a tmpfs needs root and a kernel that lets it"))
  func `A full disk of the list is answered with 507`() async throws {
    let answers = try Self.documented().filter { $0.status == 507 }
    #expect(answers.count > Self.elsewhere.keys.count { $0.hasSuffix(" 507") })
    try await DaemonFixture.withFiles(["/a"]) { (fixture) async throws in
      let disk = try SmallDisk(at: fixture.state, size: "8m")
      defer { disk.unmount() }
      let run = try await fixture.serve("--listen", "127.0.0.1:0", "--root", fixture.work.directory)
      let served = try await prepare(fixture, run)
      try await fixture.shell("cat /dev/zero >s/zeros || true")
      for answer in answers { try expect(answer, served) }
      run.send(SIGTERM)
      #expect(await run.end().status == 0)
    }
  }

  private func expect(_ answer: Answer, _ served: Served) throws {
    guard Self.elsewhere[answer.name] == nil else { return }
    let call = try call(answer, served)
    #expect(call.status == answer.status, "\(answer.name): \(call.body)")
    guard answer.status >= 400 else { return }
    let problem = try? JSONDecoder().decode(Problem.self, from: Data(call.body.utf8))
    #expect(problem?.status == answer.status, "\(answer.name): \(call.body)")
  }

  private func prepare(_ fixture: DaemonFixture, _ run: CommandRun) async throws -> Served {
    try await run.reach("it listened") { _, errors in errors.contains("of 127.0.0.1") }
    let port = run.firstError(matching: /listening on port (\d+)/).flatMap { Int($0) }
    #expect(try await fixture.haul("suspend").status == 0)
    let url = fixture.work.server.url("/a")
    let transfers = (0..<33).map {
      #"{"url":"\#(url)","file":"\#(fixture.work.path("\($0)"))","identifier":"own \#($0)"}"#
    }
    let socket = try fixture.location().socket
    let added = try SocketCall(
      "POST", "/api/v1/transfers", ["Host: localhost", Self.json],
      body: #"{"transfers":[\#(transfers.joined(separator: ","))]}"#, to: socket)
    let ids = try JSONDecoder().decode(AddResponse.self, from: Data(added.body.utf8)).ids
    var served = Served(
      socket: socket, port: try #require(port), url: url, ids: ids.map(\.description))
    served.session = try served.page().key().session
    return served
  }

  /// The call that gets an answer: the documented one, with what its status needs.
  private func call(_ answer: Answer, _ served: Served) throws -> SocketCall {
    let special = try special(answer, served)
    var path = "/api/v1" + (special.path ?? answer.path).replacing("{id}", with: served.ids[0])
    // What only the page sends.
    let isOfPage = ["/session", "/session/proof"].contains(answer.path)
    var body = special.body ?? (answer.method == "GET" ? nil : "{}")
    var endpoint = SocketCall.Endpoint.socket(served.socket)
    var (host, type, more) = ("localhost", Self.json, [String]())
    if isOfPage, ![401, 403, 421].contains(answer.status) {
      endpoint = .port(served.port)
      host = "127.0.0.1:\(served.port)"
      more = ["Origin: http://\(host)"]
    }
    if answer.method == "GET", answer.path == "/session", [200, 400].contains(answer.status) {
      more.append("Authorization: Bearer \(try served.page().token())")
    }
    switch answer.status {
    case 400: path += "?x=1"
    case 401: (endpoint, host) = (.port(served.port), "127.0.0.1:\(served.port)")
    case 403: more = ["Origin: null"]
    case 413: body = Self.tooLong
    case 415: type = "Content-Type: text/plain"
    case 421: host = "evil.example"
    default: break
    }
    return try SocketCall(
      answer.method, path, ["Host: \(host)", type] + more, body: body, at: endpoint)
  }

  /// The path and the body, where they are not the usual ones.
  private func special(
    _ answer: Answer, _ served: Served
  ) throws -> (path: String?, body: String?) {
    let selection = #"{"group":"none"}"#
    func add(_ name: String, _ file: String = "/never", _ more: String = "") -> String {
      let transfer = #"{"url":"\#(served.url)","file":"\#(file)","identifier":"\#(name)"}"#
      return #"{"transfers":[\#(transfer)]\#(more)}"#
    }
    func command(_ name: String, _ transfers: String, _ more: String = "") -> String {
      #"{"command":"\#(name)","transfers":\#(transfers)\#(more)}"#
    }
    switch answer.name {
    case "PATCH /queue 200": return (nil, #"{"is_suspended":true}"#)
    case "POST /transfers 201", "POST /transfers 507": return (nil, add("new"))
    case "POST /transfers 409": return (nil, add("own 1", "/never", #","if_known":"refuse""#))
    case "POST /transfers 422": return (nil, add("new", "relative"))
    case "PATCH /transfers/{id} 507": return (nil, #"{"priority":"background"}"#)
    case "PATCH /transfers 200":
      return (nil, #"{"transfers":\#(selection),"change":{"priority":"background"}}"#)
    case "PATCH /transfers 507":
      return (nil, #"{"transfers":{"all":true},"change":{"priority":"background"}}"#)
    case "PATCH /transfers 422":
      return (nil, #"{"transfers":\#(selection),"change":{"url":"http://h/x"}}"#)
    case "PATCH /transfers/{id} 422": return (nil, #"{"url":"ftp://h/x"}"#)
    case "PATCH /limits 422": return (nil, #"{"active":-1}"#)
    case "PATCH /limits 507": return (nil, #"{"active":3}"#)
    case "POST /probe 200": return (nil, #"{"url":"\#(served.url)"}"#)
    case "POST /probe 422": return (nil, #"{"url":"ftp://h/x"}"#)
    case "POST /probe 502": return (nil, #"{"url":"http://127.0.0.1:1/x"}"#)
    case "GET /space 200": return ("/space?directory=/", nil)
    case "POST /commands 200": return (nil, command("pause", selection))
    case "POST /commands 422":
      return (nil, command("prioritize", selection, #","priority":"x""#))
    case "POST /wait 200": return (nil, selection)
    case "GET /files 200": return ("/files?directory=/", nil)
    case "GET /files 404": return ("/files?directory=/no/such/directory", nil)
    case "POST /commands 507": return (nil, command("pause", #"{"all":true}"#))
    case "PATCH /notices 200", "PATCH /notices 507": return (nil, #"{"seen_up_to":0}"#)
    case "POST /session 200", "POST /session 507":
      return (nil, #"{"code":"\#(try served.page().code)"}"#)
    case "POST /session/proof 200":
      let (session, challenge) = (
        String(repeating: "0", count: 16), String(repeating: "0", count: 64)
      )
      return (nil, #"{"session":"\#(session)","challenge":"\#(challenge)"}"#)
    case "DELETE /sessions/{id} 204":
      return ("/sessions/\(try served.page().key().session)", nil)
    case "DELETE /sessions/{id} 507": return ("/sessions/\(served.session)", nil)
    default: break
    }
    guard [404, 409].contains(answer.status) else { return (nil, nil) }
    let name = answer.status == 404 ? "nobody" : served.ambiguous
    switch answer.path {
    case "/transfers" where answer.method == "PATCH":
      return (nil, #"{"transfers":{"ids":["\#(name)"]},"change":{"group":"g"}}"#)
    case "/transfers": return ("/transfers?after=\(name)", nil)
    case "/commands": return (nil, command("pause", #"{"ids":["\#(name)"]}"#))
    case "/wait": return (nil, #"{"ids":["\#(name)"]}"#)
    default: return (answer.path.replacing("{id}", with: name), nil)
    }
  }
}

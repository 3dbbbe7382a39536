import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// A daemon that listens on a port, and lets TCP clients write below one directory.
struct RemoteFixture {
  let fixture: DaemonFixture
  let port: Int
  let token: String
  let root: String

  static func with(_ body: (RemoteFixture) async throws -> Void) async throws {
    try await DaemonFixture.with(CommandFixture.file("/a")) { fixture in
      let root = fixture.work.path("root")
      try FileManager.default.createDirectory(
        atPath: root, withIntermediateDirectories: false)
      let serving = try await fixture.serve("--listen", "127.0.0.1:0", "--root", root)
      try await serving.reach("it listened") { _, errors in errors.contains("of 127.0.0.1") }
      let number = serving.firstError(matching: /listening on port (\d+)/)
      let token = try String(contentsOfFile: try fixture.location().token, encoding: .utf8)
      try await body(
        RemoteFixture(
          fixture: fixture, port: try #require(number.flatMap { Int($0) }),
          token: token.trimmingCharacters(in: .newlines), root: root))
    }
  }

  /// The fields of a good request.
  var fields: [String] { ["Host: 127.0.0.1:\(port)", "Authorization: Bearer \(token)"] }

  func call(
    _ method: String, _ path: String, _ fields: [String], body: String? = nil
  ) throws -> SocketCall {
    try SocketCall(method, path, fields, body: body, at: .port(port))
  }

  /// Adds a transfer with these keys of JSON, and perhaps more keys beside the list.
  func add(_ keys: String, beside more: String = "") throws -> SocketCall {
    try call(
      "POST", "/api/v1/transfers", fields + ["Content-Type: application/json"],
      body: #"{"transfers":[{\#(keys)}]\#(more)}"#)
  }

  /// The id in the answer to an addition.
  func id(of answer: SocketCall) throws -> String {
    try #require(
      answer.body.firstMatch(of: /[0-9A-Z]{8}/).map { String($0.output) }, "\(answer.body)")
  }

  /// Removes a transfer, or all, with its file; returns the paths of the files that are left.
  func remove(_ id: String?) throws -> [String] {
    let which = id.map { #""ids":["\#($0)"]"# } ?? #""all":true"#
    let answer = try call(
      "POST", "/api/v1/commands", fields + ["Content-Type: application/json"],
      body: #"{"command":"remove","transfers":{\#(which)},"delete_files":true}"#)
    #expect(answer.status == 200, "\(answer.body)")
    return try JSONDecoder().decode(CommandResponse.self, from: Data(answer.body.utf8)).left
  }

  /// Gives a transfer another address.
  func move(_ id: String, to url: String) throws -> SocketCall {
    try call(
      "PATCH", "/api/v1/transfers/\(id)", fields + ["Content-Type: application/json"],
      body: #"{"url":"\#(url)"}"#)
  }
}

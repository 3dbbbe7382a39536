import Foundation
import HaulCore
import HaulTesting
import Testing

/// Uploads with keys that a program gives, with real programs and connections.
@Suite(.timeLimit(.minutes(10))) struct RoleKeyRuns {
  private static let answer = """
    {"Version":1,"AccessKeyId":"role-id","SecretAccessKey":"canary-secret",
    "SessionToken":"canary-session","Expiration":"2999-01-01T00:00:00Z"}
    """

  private static var store: FaultScript.Resource {
    FaultScript.Resource("/bucket/", length: 0).with { $0.service = .s3 }
  }

  /// Writes the files, and returns the environment that names them.
  private func prepare(
    _ fixture: CommandFixture, _ environment: [String: String] = [:]
  ) throws -> [String: String] {
    let answer = fixture.path("its answer")
    let files = [
      "f.bin": "file", "its answer": Self.answer,
      "config": "[profile p]\ncredential_process = cat \"\(answer)\"\n",
    ]
    for (name, text) in files {
      try Data(text.utf8).write(to: URL(filePath: fixture.path(name)))
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: fixture.path(name))
    }
    return environment.merging([
      "AWS_ENDPOINT_URL_S3": fixture.server.origin, "AWS_PROFILE": "p",
      "AWS_CONFIG_FILE": fixture.path("config"),
      "AWS_SHARED_CREDENTIALS_FILE": fixture.path("none"),
    ]) { $1 }
  }

  private func expectSigned(_ server: FaultServer) {
    let requests = server.snapshot.requests
    #expect(!requests.isEmpty)
    for request in requests {
      #expect(request.header("Authorization")?.contains("Credential=role-id/") == true)
      #expect(request.header("X-Amz-Security-Token") == "canary-session")
    }
    #expect(server.files(below: "/bucket/") == ["/bucket/k": Array("file".utf8)])
  }

  @Test func `A program's keys sign, and are shown nowhere`() async throws {
    try await CommandFixture.with(Self.store) { fixture in
      let environment = try prepare(fixture, ["XDG_STATE_HOME": fixture.path("state")])
      let result = try await fixture.haul(
        ["put", "-v", "f.bin", "s3://bucket/k"], environment: environment)
      #expect(result.status == 0, "\(result.errors)")
      expectSigned(fixture.server)
      #expect(!(result.output + result.errors).contains("canary"))
    }
  }

  @Test func `A program that fails is named, without what it said`() async throws {
    try await CommandFixture.with(Self.store) { fixture in
      let environment = try prepare(fixture, ["XDG_STATE_HOME": fixture.path("state")])
      let text = "[profile p]\ncredential_process = sh -c 'echo canary >&2; exit 3'\n"
      try Data(text.utf8).write(to: URL(filePath: fixture.path("config")))
      let result = try await fixture.haul(
        ["put", "-v", "f.bin", "s3://bucket/k"], environment: environment)
      #expect(result.status == 1)
      #expect(result.errors.contains("no access key from the profile p"))
      #expect(!(result.output + result.errors).contains("canary"))
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test func `A token file that is a pipe without a writer is not waited for`() async throws {
    try await CommandFixture.with(Self.store) { fixture in
      try Data("file".utf8).write(to: URL(filePath: fixture.path("f.bin")))
      #expect(mkfifo(fixture.path("token"), 0o600) == 0)
      let environment = [
        "XDG_STATE_HOME": fixture.path("state"), "AWS_ENDPOINT_URL": fixture.server.origin,
        "AWS_WEB_IDENTITY_TOKEN_FILE": fixture.path("token"), "AWS_ROLE_ARN": "arn:r",
      ]
      let result = try await fixture.haul(
        ["put", "f.bin", "s3://bucket/k"], environment: environment)
      #expect(result.status == 1)
      #expect(result.errors.contains("it is no regular file"), "\(result.errors)")
      #expect(fixture.server.snapshot.requests.isEmpty)
    }
  }

  @Test func `The daemon asks for the keys itself, and stores none`() async throws {
    try await DaemonFixture.with([Self.store]) { (fixture) async throws in
      let environment = try prepare(fixture.work, fixture.environment)
      let adding = try await fixture.work.haul(
        ["add", "--put", "f.bin", "s3://bucket/k"], environment: environment)
      #expect(adding.status == 0, "\(adding.errors)")
      #expect(try await fixture.haul("wait", "--all").status == 0)
      expectSigned(fixture.work.server)
      let directory = URL(filePath: fixture.work.directory)
      let files = try #require(FileManager.default.enumerator(atPath: directory.path))
      for case let name as String in files where name != "its answer" {
        guard let bytes = try? Data(contentsOf: directory.appending(path: name)) else { continue }
        #expect(bytes.firstRange(of: Data("canary".utf8)) == nil, "\(name)")
      }
    }
  }

  @Test func `An upload that is moved to another server is no longer signed`() async throws {
    try await DaemonFixture.with([Self.store]) { (fixture) async throws in
      let environment = try prepare(fixture.work, fixture.environment)
      let serving = try await fixture.serve()
      #expect(try await fixture.haul("suspend").status == 0)
      let adding = try await fixture.work.haul(
        ["add", "--put", "f.bin", "s3://bucket/k"], environment: environment)
      let id = adding.output.trimmingCharacters(in: .newlines)
      let port = try ResourceURL(fixture.work.server.origin).origin.port
      let moving = try await fixture.haul("set", id, "--url", "http://localhost:\(port)/bucket/k")
      #expect(moving.status == 0, "\(moving.errors)")
      #expect(try await fixture.haul("unsuspend").status == 0)
      #expect(try await fixture.haul("wait", "--all").status == 1)
      let requests = fixture.work.server.snapshot.requests
      #expect(!requests.isEmpty && requests.allSatisfy { $0.header("Authorization") == nil })
      #expect(try await fixture.haul("daemon", "stop").status == 0)
      _ = await serving.end()
    }
  }

  @Test func `A client over TCP gets no keys of a role`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      try Data("file".utf8).write(to: URL(filePath: "\(remote.root)/f"))
      let url = remote.fixture.work.server.url("/bucket/k")
      let source = #""key_source":{"place":{"container":{}},"region":"r"}"#
      let upload = #""url":"\#(url)","put":"\#(remote.root)/f","method":"s3""#
      let answer = try remote.add("\(upload),\(source)")
      #expect(answer.status == 403 && answer.body.contains("over the socket"))
      // The control: without the source it may be added.
      #expect(try remote.add(upload).status == 201)
    }
  }

  @Test func `A client over TCP does not choose the object that a role's keys read`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      let fixture = remote.fixture
      let environment = try prepare(fixture.work, fixture.environment)
      #expect(try await fixture.haul("suspend").status == 0)
      let sum = "sha-256=\(String(repeating: "0", count: 64))"
      let adding = try await fixture.work.haul(
        ["add", "s3://bucket/f", "-o", "\(remote.root)/f", "--checksum", sum],
        environment: environment)
      #expect(adding.status == 0, "\(adding.errors)")
      let id = adding.output.trimmingCharacters(in: .newlines)
      let url = fixture.work.server.url("/bucket/private")
      #expect(try remote.move(id, to: url).status == 403)
      // The control: its owner may.
      #expect(try await fixture.haul("set", id, "--url", url, "--same-resource").status == 0)
    }
  }
}

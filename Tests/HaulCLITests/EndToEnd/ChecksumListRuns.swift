import Crypto
import Foundation
import HaulCore
import HaulTesting
import Testing

/// Runs of `haul get` with lists of digests, and of `haul verify -c`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ChecksumListRuns {
  private static let length: Int64 = 5000
  private static let digest = SeededContent.sha256Hex(seed: CommandFixture.seed, length: length)
  private static let wrong = String(repeating: "0", count: 64)

  private struct Place {
    let fixture: CommandFixture

    func write(_ text: String, as name: String) throws {
      try Data(text.utf8).write(to: URL(filePath: fixture.path(name)))
    }

    /// Puts a text to the server.
    func put(_ text: String, as name: String) async throws {
      try write(text, as: "list")
      let put = try await haul("put", "list", address(name), "--if-exists", "overwrite")
      #expect(put.status == 0, "\(put.errors)")
      try FileManager.default.removeItem(atPath: fixture.path("list"))
    }

    func haul(_ arguments: String...) async throws -> CommandResult {
      try await fixture.haul(arguments)
    }

    func address(_ name: String) -> String { fixture.server.url("/dav/\(name)") }
  }

  private func with(_ body: (Place) async throws -> Void) async throws {
    let plain = FaultScript.Resource("/dav/", length: 0).with { $0.service = .webDAV }
    let elsewhere = CommandFixture.file("/away/file.bin.sha256", length: 1).with {
      $0.redirect = .init(location: "http://localhost:{port}/dav/good.sha256")
    }
    try await CommandFixture.with(
      plain, CommandFixture.file("/file.bin", length: Self.length), elsewhere,
      CommandFixture.file("/away/file.bin", length: Self.length)
    ) { (fixture) async throws in try await body(Place(fixture: fixture)) }
  }

  @Test func `overwrite fetches only what is wrong or missing, and replaces it`() async throws {
    let names = ["right", "wrong", "gone"]
    try await CommandFixture.with(names.map { CommandFixture.file("/\($0)", length: Self.length) })
    {
      fixture in
      let place = Place(fixture: fixture)
      try place.write(names.map { "\(Self.digest)  \($0)\n" }.joined(), as: "SUMS")
      try place.write(names.map { fixture.server.url("/\($0)") + "\n" }.joined(), as: "list")
      _ = try await place.haul("get", fixture.server.url("/right"))
      try place.write("somebody's", as: "wrong")
      let before = fixture.server.snapshot.requests.count
      let kept = try await place.haul("get", "-i", "list", "--checksum-file", "SUMS", "-d", ".")
      #expect(kept.status == 0, "\(kept.errors)")
      #expect(try fixture.contents("wrong") == Array("somebody's".utf8), "never without a word")
      #expect(kept.errors.contains("wrong (1)"))
      try FileManager.default.removeItem(atPath: fixture.path("gone"))
      let command = ["get", "-i", "list", "--checksum-file", "SUMS", "--if-exists", "overwrite"]
      let repaired = try await fixture.haul(command)
      #expect(repaired.status == 0, "\(repaired.errors)")
      let asked = fixture.server.snapshot.requests.dropFirst(before).map(\.path)
      #expect(!asked.contains("/right"))
      let count = fixture.server.snapshot.requests.count
      #expect(try await place.haul("verify", "-q", "-c", "SUMS").status == 0)
      #expect(try await fixture.haul(command).status == 0)
      #expect(fixture.server.snapshot.requests.count == count, "all of them are right")
      #expect(try await fixture.haul(command + ["--start-over"]).status == 0)
      #expect(fixture.server.snapshot.requests.count > count)
    }
  }

  @Test func `verify checks each file of a list, and says what they come to`() async throws {
    try await with { place in
      _ = try await place.haul("get", place.fixture.server.url("/file.bin"))
      try place.write("\(Self.digest)  file.bin\n", as: "good")
      let good = try await place.haul("verify", "-c", "good")
      #expect(good.status == 0 && good.output == "file.bin: OK\n", "\(good.errors)")
      #expect(try await place.haul("verify", "-q", "-c", "good").output == "")
      let list = """
        SHA256 (file.bin) = \(Self.wrong)
        \(Self.digest)  gone.bin
        \\\(Self.digest)  a\\nb

        """
      try place.write(list, as: "bad")
      let bad = try await place.haul("verify", "-c", "bad")
      #expect(bad.status == 1)
      let lines = bad.output.split(separator: "\n")
      #expect(lines.count == 3, "a name has no line of its own: \(bad.output)")
      #expect(lines.first == "file.bin: FAILED")
      #expect(lines.dropFirst().allSatisfy { $0.contains("FAILED open or read") })
      #expect(bad.errors.contains("1 of 3 files do not match bad"))
      #expect(bad.errors.contains("2 of 3 files cannot be read"))
      let passed = try await place.haul("verify", "-c", "bad", "--ignore-missing")
      #expect(passed.status == 1 && passed.output == "file.bin: FAILED\n")
      let names = try await place.haul("verify", "-c", "bad", "--failed")
      #expect(names.status == 1)
      #expect(names.output == "file.bin\ngone.bin\na\\nb\n", "\(names.output)")
      #expect(try await place.haul("verify", "-c", "good", "--failed").output == "")
      #expect(try await place.haul("verify", "x", "--checksum", "md5=0", "--failed").status == 2)
      try place.write("\(Self.digest)  gone.bin\n", as: "none")
      #expect(try await place.haul("verify", "-c", "none", "--ignore-missing").status == 1)
    }
  }

  @Test func `get compares with a list of a server, and tells that it came without TLS`()
    async throws
  {
    try await with { place in
      try await place.put("\(Self.digest)  file.bin\n", as: "good")
      try await place.put("\(Self.wrong)  file.bin\n", as: "bad")
      let url = place.fixture.server.url("/file.bin")
      let good = try await place.haul("get", url, "--checksum-file", place.address("good"))
      #expect(good.status == 0, "\(good.errors)")
      #expect(good.errors.contains("came without TLS"))
      let bad = try await place.haul(
        "get", "-o", "other", url, "--checksum-file", place.address("bad"))
      #expect(bad.status == 1 && bad.errors.contains("match"), "\(bad.errors)")
      #expect(try !place.fixture.names().contains("other"))
      let gone = try await place.haul("get", url, "--checksum-file", place.address("gone"))
      #expect(gone.status == 1 && gone.errors.contains("the list http"), "\(gone.errors)")
    }
  }

  @Test func `A list on another server gets nothing that is for the files`() async throws {
    try await with { place in
      try await place.put("\(Self.digest)  file.bin\n", as: "good")
      let server = place.fixture.server
      let other = place.address("good").replacing("127.0.0.1", with: "localhost")
      let result = try await place.haul(
        "get", server.url("/file.bin"), "--checksum-file", other, "-H", "X-Mine: canary")
      #expect(result.status == 0, "\(result.errors)")
      let requests = server.snapshot.requests.filter { $0.method == "GET" }
      let list = try #require(requests.last { $0.target == "/dav/good" })
      let file = try #require(requests.last { $0.target == "/file.bin" })
      #expect(list.header("X-Mine") == nil && file.header("X-Mine") == "canary")
    }
  }

  @Test func `A list beside a file is found; a line says if there is none`() async throws {
    try await with { place in
      try await place.put(String(repeating: "x", count: 5), as: "a.bin")
      try await place.put("<html>not found</html>", as: "a.bin.sha256")
      try await place.put("\(Self.wrong)  other\n", as: "SHA256SUMS")
      let none = try await place.haul("get", "--checksum-from", "auto", place.address("a.bin"))
      #expect(none.status == 0, "\(none.errors)")
      #expect(none.errors.contains("no list of digests was found beside"))
      let required = try await place.haul(
        "get", "-o", "b", "--checksum-from", "required", place.address("a.bin"))
      #expect(required.status == 1 && required.errors.contains("no list of digests"))
      try await place.put("\(Self.wrong)  other\n\(Self.wrong)  a.bin\n", as: "SHA256SUMS")
      let bad = try await place.haul(
        "get", "-o", "c", "--checksum-from", "auto", place.address("a.bin"))
      #expect(bad.status == 1, "\(bad.errors)")
      #expect(bad.errors.contains("compared with \(place.address("SHA256SUMS"))"))
      #expect(try !place.fixture.names().contains { $0 == "b" || $0 == "c" })
    }
  }

  @Test(arguments: [
    "a.sha256", "a.sha256sum", "a.sha512", "a.sha512sum", "SHA256SUMS", "SHA512SUMS",
    "sha256sums.txt", "SHA256SUMS.txt", "sha256sum.txt", "checksums.txt", "a.sha1", "a.md5",
    "SHA1SUMS", "MD5SUMS",
  ])
  func `A list of each usual name is found, and proves the file`(name: String) async throws {
    let bytes = Data("xxxxx".utf8)
    let kind = name.lowercased()
    let digest: [UInt8] =
      if kind.contains("512") {
        Array(SHA512.hash(data: bytes))
      } else if kind.contains("sha1") {
        Array(Insecure.SHA1.hash(data: bytes))
      } else if kind.contains("md5") {
        Array(Insecure.MD5.hash(data: bytes))
      } else {
        Array(SHA256.hash(data: bytes))
      }
    try await with { place in
      try await place.put("xxxxx", as: "a")
      try await place.put("\(digest.hexDigits)  a\n", as: name)
      let result = try await place.haul("get", "--checksum-from", "required", place.address("a"))
      #expect(result.status == 0, "\(result.errors)")
      #expect(result.errors.contains(place.address(name)), "\(result.errors)")
    }
  }

  @Test func `A list that is not there is asked for once in a run`() async throws {
    let files = ["/a/1.bin", "/b/2.bin", "/a/3.bin"]
    let resources = files.map { CommandFixture.file($0, length: Self.length) }
    try await CommandFixture.with(resources) { fixture in
      let result = try await fixture.haul(
        ["get", "-d", "out", "--checksum-from", "auto"] + files.map { fixture.server.url($0) })
      #expect(result.status == 0, "\(result.errors)")
      let none = "no list of digests was found beside \(fixture.server.url("/a/1.bin"))"
      #expect(result.errors.contains("\(none), nor beside 2 others"), "\(result.errors)")
      let asked = fixture.server.snapshot.requests.map(\.target).filter { !$0.contains(".bin") }
      #expect(asked.contains("/a/SHA256SUMS") && asked.contains("/b/SHA256SUMS"))
      #expect(asked.count == Set(asked).count, "\(asked)")
      let own = fixture.server.snapshot.requests.filter { $0.target == "/a/3.bin.sha256" }
      #expect(own.count == 1)
    }
  }

  @Test func `A server that cannot say whether there is a list ends the run`() async throws {
    let lists = [("/busy.bin", 503), ("/locked.bin", 401), ("/hidden.bin", 403)]
    let resources = lists.flatMap { name, status in
      [
        CommandFixture.file(name, length: Self.length),
        CommandFixture.file("\(name).sha256", length: 1, .always(.status(status))),
      ]
    }
    try await CommandFixture.with(resources) { fixture in
      for (name, status) in lists {
        let result = try await fixture.haul(
          ["get", "--retries", "0", "--checksum-from", "auto", fixture.server.url(name)])
        // Some stores answer 403 for what they do not have.
        #expect(result.status == (status == 403 ? 0 : 1), "\(result.errors)")
        #expect(result.errors.contains("answered \(status)"), "\(result.errors)")
      }
      #expect(try fixture.names() == ["hidden.bin"])
    }
  }

  @Test func `A list to which the server redirects is not used from another host`() async throws {
    try await with { place in
      try await place.put("\(Self.wrong)\n", as: "good.sha256")
      let result = try await place.haul(
        "get", "--checksum-from", "auto", place.fixture.server.url("/away/file.bin"))
      #expect(result.status == 0, "\(result.errors)")
      #expect(result.errors.contains("whose digests are not used"))
    }
  }
}

import FoundationEssentials
import HaulKit
import Testing

/// Values that users store, send and display.
@Suite struct CodableTests {
  private func again<Value: Codable>(_ value: Value) throws -> Value {
    try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
  }

  @Test func `A request survives coding, including its secrets`() throws {
    let url = try ResourceURL("https://user:pass%20word@host:8443/a%20b?token=t#part")
    var request = TransferRequest.download(url, to: .file("/tmp/a")) {
      $0.headers = [("Authorization", "Bearer x"), ("Accept", "*/*")]
      $0.checksums = [Checksum("md5=00112233445566778899aabbccddeeff")].compactMap { $0 }
      $0.retry.maximumTimeWithoutProgress = .milliseconds(1500)
      $0.createsDirectories = true
      $0.maximumSize = .max
      $0.trustedRedirectHosts = ["other"]
    }
    request.identifier = "a"
    request.group = "g"
    request.priority = .userInitiated
    request.after = ["b", try #require(TransferID("0123ABCD"))]
    request.whenDependencyFails = .skip
    #expect(try again(request) == request)
    #expect(
      try again(request).download?.url.text == "https://user:pass%20word@host:8443/a%20b?token=t")
    let step = TransferRequest.step(program: ["tar", "-x"], in: "/tmp", isIdempotent: true)
    #expect(try again(step) == step)
    #expect(try again(TransferRequest.step("s", input: "i")) == .step("s", input: "i"))
  }

  @Test func `A result and an error survive coding`() throws {
    let error = TransferError(
      .httpStatus, "503", status: 503, isRetryable: true, retryAfter: .seconds(3))
    let result = TransferResult(
      state: .failed, path: "/a", bytes: 1, fetched: 2, reused: 3, duration: .milliseconds(4),
      checksums: [Checksum("md5=00112233445566778899aabbccddeeff")].compactMap { $0 },
      verified: .checksum, coding: "gzip", error: error,
      metrics: TransferMetrics(timeToFirstResponse: .seconds(1), requests: 2, retries: 1))
    #expect(try again(result) == result)
    #expect(try again(error) == error)
    #expect(try again(TransferProgress(bytes: 1, total: 2)) == TransferProgress(bytes: 1, total: 2))
  }

  @Test(arguments: ["\"\"", "\"http://\"", "\"ftp://secret@host/\"", "7"])
  func `An invalid address is refused, and not shown in the error`(json: String) throws {
    let error = #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(ResourceURL.self, from: Data(json.utf8))
    }
    #expect(!"\(String(describing: error))".contains("secret"))
  }

  @Test(arguments: ["\"0123456\"", "\"0123456!\"", "\"\""])
  func `An invalid id is refused`(json: String) {
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(TransferID.self, from: Data(json.utf8))
    }
  }

  @Test func `An address converts to and from Foundation's URL`() throws {
    let url = try #require(URL(string: "https://us%40er:p@host/a%20b?q=1#part"))
    let address = try ResourceURL(url)
    #expect(address.text == "https://us%40er:p@host/a%20b?q=1")
    #expect(address.url?.absoluteString == address.text)
    #expect(address.path == "/a%20b")
    let base = try #require(URL(string: "https://host/a/b"))
    let relative = try #require(URL(string: "c", relativeTo: base))
    #expect(try ResourceURL(relative).text == "https://host/a/c")
    #expect(throws: TransferError.self) { try ResourceURL(URL(filePath: "/etc/passwd")) }
  }

  @Test func `An error has Foundation's localized description`() {
    let error: any LocalizedError = TransferError(.diskFull, "no room")
    #expect(error.errorDescription == "no room")
  }
}

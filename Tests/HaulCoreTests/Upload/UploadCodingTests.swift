import Foundation
import HaulCore
import Testing

/// Programs have stored it, and so has the list, for uploads to abort.
@Suite struct UploadCodingTests {
  /// The upload of earlier versions, coded by the compiler.
  private struct Earlier: Codable {
    var source: String
    var url: ResourceURL
    var method = UploadRequest.Method.put
    var precondition = UploadRequest.Precondition.none
    var fields = HeaderFields()
    var rateLimit: Int64?
    var allowInsecure = false
    var retry = RetryPolicy()
    var region: String?
    var roots: [String]?
    var listed: FileIdentity?
    var listedIn: String?
    var keySource: S3KeySource?
    var bearerFile: String?
    var stream: UInt64?
    var download: DownloadRequest?
    var parts: [FormPart]?
  }

  private func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  private func check(_ request: UploadRequest, _ earlier: Earlier) throws {
    let text = try json(earlier)
    #expect(try json(request) == text)
    #expect(try JSONDecoder().decode(UploadRequest.self, from: Data(text.utf8)) == request)
  }

  @Test func `Each source is coded as before`() throws {
    let url = try ResourceURL("https://u:p@h/x?k=v")
    try check(UploadRequest("/d/f", to: url), Earlier(source: "/d/f", url: url))
    let parts = [
      FormPart("n", .text("v")), FormPart("a", .file("/d/a")), FormPart("b", .file("/d/b")),
    ]
    try check(
      UploadRequest(form: parts, to: url),
      Earlier(source: "/d/a", url: url, method: .post, parts: parts))
    try check(UploadRequest(to: url), Earlier(source: "", url: url, stream: 0))
    var numbered = UploadRequest(to: url)
    numbered.source = .stream(7)
    try check(numbered, Earlier(source: "", url: url, stream: 7))
    let download = DownloadRequest(url: try ResourceURL("https://s/f"), to: .stream)
    try check(
      UploadRequest(from: download, to: url), Earlier(source: "", url: url, download: download))
  }

  @Test func `Each option is coded as before`() throws {
    let url = try ResourceURL("https://h/x")
    var earlier = Earlier(source: "/d/f", url: url, method: .s3, precondition: .entityTag("\"a\""))
    (earlier.fields, earlier.rateLimit) = (HeaderFields([("A", "1"), ("a", "2")]), 5000)
    (earlier.allowInsecure, earlier.region, earlier.roots) = (true, "r", ["/d"])
    (earlier.retry.retries, earlier.retry.maximumTimeWithoutProgress) = (2, .milliseconds(1500))
    (earlier.listed, earlier.listedIn) = (FileIdentity(device: 1, inode: 2), "/d")
    earlier.keySource = S3KeySource(.container, region: "r")
    earlier.bearerFile = "/token"
    var request = UploadRequest("/d/f", to: url)
    (request.method, request.precondition) = (earlier.method, earlier.precondition)
    (request.headers, request.rateLimit) = (earlier.fields, earlier.rateLimit)
    (request.allowInsecure, request.region) = (earlier.allowInsecure, earlier.region)
    (request.roots, request.retry) = (earlier.roots, earlier.retry)
    (request.listed, request.listedIn) = (earlier.listed, earlier.listedIn)
    (request.keySource, request.bearerFile) = (earlier.keySource, earlier.bearerFile)
    try check(request, earlier)
    // Earlier versions did not have it.
    request.ifExists = .update
    let new = try JSONDecoder().decode(UploadRequest.self, from: Data(try json(request).utf8))
    #expect(new == request)
    // An option has its default here, or no row in the table, if its key is missing.
    let object = try JSONSerialization.jsonObject(with: Data(try json(request).utf8))
    let keys = try #require(object as? [String: Any]).keys
    // The header fields keep the key that they had.
    let labels = Mirror(reflecting: request).children.compactMap(\.label)
    #expect(Set(keys) == Set(labels.map { $0 == "headers" ? "fields" : $0 }))
  }
}

import Foundation
import HaulCLI
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// The tables of options, against what they are written for. `StoredFormTests` compares the store.
@Suite
struct RequestFieldTests {
  /// The names of stored properties that are equal in both.
  private func same<Value>(_ one: Value, _ other: Value) -> [String] {
    zip(Mirror(reflecting: one).children, Mirror(reflecting: other).children)
      .filter { String(reflecting: $0.value) == String(reflecting: $1.value) }
      .compactMap(\.0.label)
  }

  private func sent(_ request: TransferRequest) throws -> TransferRequest {
    let json = try StrictJSON.encode(try NewTransfer(request))
    return try StrictJSON.decode(NewTransfer.self, from: json).request
  }

  private func fullDownload() throws -> DownloadRequest {
    let url = try ResourceURL("https://user:secret@h/x")
    var download = DownloadRequest(url: url, to: .file("/d/x"))
    (download.createsDirectories, download.ifExists) = (true, .rename)
    (download.durability, download.headers) = (.relaxed, [("A", "1")])
    download.checksums = [try #require(Checksum("crc32c=0123abcd"))]
    (download.connections, download.minimumSplit, download.rateLimit) = (3, 4096, 5000)
    (download.maximumSize, download.creationMask) = (1 << 40, 0o027)
    (download.decodesContent, download.usesSuggestedName) = (true, true)
    (download.startOver, download.allowUnverified) = (true, true)
    (download.resumesFromOtherURL, download.allowInsecure) = (true, true)
    download.trustedRedirectHosts = ["a"]
    (download.retry.retries, download.retry.maximumTimeWithoutProgress) = (2, .seconds(90))
    (download.roots, download.region, download.hasFieldsOfClient) = (["/d"], "r", true)
    download.hasNoRanges = true
    download.keySource = S3KeySource(.container, region: "r", tokenService: url)
    download.bearerFile = "/token"
    return download
  }

  @Test func `Each property reaches the daemon, except those that it sets itself`() throws {
    let url = try ResourceURL("http://h/")
    let plain = DownloadRequest(url: url, to: .directory("/"))
    let full = try fullDownload()
    // A property that has its default there is not tested: set it there.
    #expect(same(plain, full) == [])
    var request = TransferRequest(.download(full))
    (request.identifier, request.group, request.priority) = ("mine", "g", .background)
    (request.after, request.whenDependencyFails) = (["other"], .run)
    (request.startSeconds, request.reportsProgress) = (1_900_000_000, false)
    request.repetition = Repetition("mon-fri 06:00")
    request.userInfo = ["view": "3"]
    // The daemon is the background.
    #expect(same(TransferRequest(.download(plain)), request) == ["isBackground"])
    let back = try sent(request)
    #expect(
      same(plain, try #require(back.download)) == ["roots", "hasFieldsOfClient", "hasNoRanges"])
    #expect(same(TransferRequest(.download(plain)), back) == ["isBackground"])

    var upload = UploadRequest("/f", to: full.url)
    (upload.method, upload.region, upload.precondition) = (.s3, "r", .absent)
    upload.ifExists = .update
    (upload.headers, upload.rateLimit, upload.allowInsecure) = ([("A", "1")], 5000, true)
    (upload.retry, upload.roots) = (full.retry, ["/d"])
    upload.keySource = S3KeySource(.container, region: "r", tokenService: url)
    upload.bearerFile = "/token"
    (upload.listed, upload.listedIn) = (FileIdentity(device: 1, inode: 2), "/d")
    let other = UploadRequest("/", to: url)
    #expect(same(other, upload) == [])
    let sentUpload = try #require(try sent(TransferRequest(.upload(upload))).upload)
    // The interface has one key for it and for the precondition, which exclude each other.
    #expect(same(other, sentUpload) == ["ifExists", "roots", "listed", "listedIn"])
    upload.precondition = .none
    let sentUpdate = try #require(try sent(TransferRequest(.upload(upload))).upload)
    #expect(same(other, sentUpdate) == ["precondition", "roots", "listed", "listedIn"])
  }

  /// The keys of the schema of `NewTransfer` that are indented by so many spaces.
  private func schemaKeys(_ indent: Int, from first: String, to last: String) throws -> Set<String>
  {
    let lines = try DocumentPage.text("docs/openapi.yaml").components(separatedBy: "\n")
    let start = try #require(lines.firstIndex(of: first))
    return Set(
      lines[(start + 1)...].prefix { !$0.hasPrefix(last) }.compactMap { line in
        let key = line.drop { $0 == " " }
        guard line.count - key.count == indent else { return nil }
        return key.split(separator: ":").first.map(String.init)
      })
  }

  @Test func `Those of the interface are documented, and no others`() throws {
    let work = [
      "url", "file", "directory", "put", "form", "get", "if_match", "headers", "run",
      "working_directory", "after",
    ]
    let keys =
      work + TransferRequest.fields.json.keys() + DownloadRequest.fields.json.keys()
      + UploadRequest.fields.json.keys() + StepRequest.fields.json.keys()
    let documented = try schemaKeys(8, from: "    NewTransfer:", to: "    Change:")
    #expect(documented == Set(keys))
    let ofSource = try schemaKeys(12, from: "        get:", to: "        method:")
    #expect(ofSource == Set(["url", "headers"] + DownloadRequest.fields.source.keys()))
  }

  /// The options with other names than the keys.
  private static let names = [
    "checksums": "checksum", "minimum_split": "min-split", "maximum_size": "max-filesize",
    "decodes_content": "decode", "uses_server_name": "remote-name", "allow_insecure": "insecure",
    "resumes_from_another_address": "same-resource", "trusted_redirect_hosts": "trust-redirects",
    "maximum_retry_time": "retry-max-time", "rate_limit": "limit-rate", "region": "s3-region",
  ]

  @Test(arguments: ["get", "add"])
  func `Those of a download are options of the commands`(command: String) throws {
    let text = (try invocation(["--experimental-dump-help"]) as? PrintedText)?.text
    let root = try JSONValue(parsing: try #require(text))
    let commands = try #require(root["command"]?["subcommands"]?.array)
    let found = try #require(commands.first { $0["commandName"]?.string == command })
    let options = (found["arguments"]?.array ?? [])
      .flatMap { $0["names"]?.array ?? [] }.compactMap { $0["name"]?.string }
    // The first follows from a path of -o below the directory of -d, the second from the caller.
    let derived: Set = ["creates_directories", "umask", "key_source"]
    for key in DownloadRequest.fields.json.keys() where !derived.contains(key) {
      let name = Self.names[key] ?? key.split(separator: "_").joined(separator: "-")
      #expect(options.contains(name), "\(key)")
    }
  }
}

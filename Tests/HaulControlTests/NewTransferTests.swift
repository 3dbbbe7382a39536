import Foundation
import HaulControl
import HaulCore
import Testing

/// A transfer as JSON.
@Suite
struct NewTransferTests {
  private func parsed(_ json: String) throws -> TransferRequest {
    try StrictJSON.decode(NewTransfer.self, from: Data(json.utf8)).request
  }

  @Test func `has the defaults of the library for keys that are left out`() throws {
    let request = try parsed(#"{"url":"http://h/x","directory":"/d"}"#)
    #expect(request == .download(try ResourceURL("http://h/x"), to: .directory("/d")))
  }

  @Test func `keeps every property of a download`() throws {
    let url = try ResourceURL("https://user:secret@h:8443/x?token=1")
    var request = TransferRequest.download(url, to: .file("/d/x")) {
      $0.createsDirectories = true
      $0.ifExists = .rename
      $0.durability = .relaxed
      $0.checksums = [Checksum("md5=" + String(repeating: "0a", count: 16))!]
      $0.headers = [("A", "1"), ("B", "2")]
      ($0.connections, $0.minimumSplit, $0.maximumSize) = (3, 4096, 1 << 40)
      $0.rateLimit = 5000
      ($0.decodesContent, $0.usesSuggestedName, $0.startOver) = (true, true, true)
      ($0.allowUnverified, $0.resumesFromOtherURL, $0.allowInsecure) = (true, true, true)
      $0.trustedRedirectHosts = ["a", "b"]
      $0.creationMask = 0o027
      ($0.retry.retries, $0.retry.maximumTimeWithoutProgress) = (2, .seconds(90))
    }
    (request.identifier, request.group, request.priority) = ("mine", "g", .userInitiated)
    request.after = [TransferID("00000001")!, "other"]
    (request.whenDependencyFails, request.reportsProgress) = (.run, false)
    request.startSeconds = 1_900_000_000.5
    let json = try StrictJSON.encode(try NewTransfer(request))
    #expect(try StrictJSON.decode(NewTransfer.self, from: json).request == request)
  }

  @Test func `has names of 1 to 1024 bytes, and an address of at most 65536`() throws {
    func download(_ key: String, _ value: String, _ path: String = "x") -> String {
      #"{"url":"http://h/\#(path)","directory":"/d","\#(key)":"\#(value)"}"#
    }
    for key in ["identifier", "group"] {
      let longest = String(repeating: "\u{E9}", count: 512)
      _ = try parsed(download(key, longest))
      for wrong in ["", longest + "a", "e" + String(repeating: "\u{301}", count: 200_000)] {
        let problem = #expect(throws: Problem.self) { try parsed(download(key, wrong)) }
        #expect(problem?.status == 422)
      }
    }
    let rest = String(repeating: "a", count: 65_536 - "http://h/".utf8.count)
    _ = try parsed(download("group", "g", rest))
    #expect(throws: Problem.self) { try parsed(download("group", "g", rest + "a")) }
  }

  @Test func `too many are refused before any of them is decoded`() throws {
    func message<Body: Decodable>(_ type: Body.Type, _ json: String) -> String? {
      do {
        _ = try StrictJSON.decode(type, from: Data(json.utf8))
        return nil
      } catch {
        return (error as? StrictJSON.Malformed)?.message
      }
    }
    func array(_ value: String, _ count: Int) -> String {
      "[\(Array(repeating: value, count: count).joined(separator: ","))]"
    }
    // 0 is no transfer and no id: a message about that would mean that one was decoded.
    let transfers = #"{"transfers":\#(array("0", 10_001))}"#
    #expect(message(AddBody.self, transfers) == "give at most 10000 transfers at once")
    let ids = #"{"ids":\#(array("0", 10_001))}"#
    #expect(message(Selection.self, ids) == "give at most 10000 ids at once")
    #expect(message(AddBody.self, #"{"transfers":\#(array(#"{"run":["a"]}"#, 10_000))}"#) == nil)
    #expect(message(Selection.self, #"{"ids":\#(array("\"a\"", 10_000))}"#) == nil)
    #expect(message(Selection.self, #"{"all":true,"ids":null}"#) == nil)
  }

  @Test func `starts at once at the time 0, and at no time that cannot be`() throws {
    let request = try parsed(#"{"run":["true"],"starts_at":0}"#)
    #expect(request == .step(program: ["true"]))
    for time in ["-1", "1e12"] {
      let problem = #expect(throws: Problem.self) {
        try parsed(#"{"run":["true"],"starts_at":\#(time)}"#)
      }
      #expect(problem?.status == 422)
    }
  }

  @Test func `has no rate limit when that is 0`() throws {
    let request = try parsed(#"{"url":"http://h/x","directory":"/d","rate_limit":0}"#)
    #expect(request == .download(try ResourceURL("http://h/x"), to: .directory("/d")))
    #expect(throws: StrictJSON.Malformed.self) {
      try parsed(#"{"url":"http://h/x","directory":"/d","rate_limit":1e19}"#)
    }
  }

  @Test func `keeps every property of an upload`() throws {
    let url = try ResourceURL("https://user:secret@h:8443/x?token=1")
    var request = TransferRequest.upload("/d/x", to: url) {
      $0.method = .tus
      $0.headers = [("A", "1"), ("B", "2")]
      ($0.rateLimit, $0.allowInsecure) = (5000, true)
      ($0.retry.retries, $0.retry.maximumTimeWithoutProgress) = (2, .seconds(90))
    }
    (request.identifier, request.group) = ("mine", "g")
    for condition in [UploadRequest.Precondition.none, .absent, .entityTag(#""v1""#)] {
      request.upload?.method = condition == .none ? .tus : .put
      request.upload?.precondition = condition
      let json = try StrictJSON.encode(try NewTransfer(request))
      #expect(try StrictJSON.decode(NewTransfer.self, from: json).request == request)
    }
    request.upload?.precondition = .none
    for method in [UploadRequest.Method.put, .webDAV] {
      for way in UploadRequest.IfExists.allCases {
        request.upload?.method = method
        request.upload?.ifExists = way
        let json = try StrictJSON.encode(try NewTransfer(request))
        #expect(try StrictJSON.decode(NewTransfer.self, from: json).request == request)
      }
    }
  }

  @Test func `keeps a form, and an object of an S3 store with its access key`() throws {
    let parts = [
      FormPart("n", .text("")), FormPart("a", .file("/d/x")), FormPart("b", .text("é\u{0}\"")),
    ]
    var form = UploadRequest(form: parts, to: try ResourceURL("https://h/x"))
    let object = try S3Object(
      bucket: "bucket", key: "a b/c", region: "eu-central-1", endpoint: ResourceURL("http://h:9"))
    var upload = UploadRequest(
      "/d/x", to: object,
      credentials: S3Credentials(
        accessKeyID: "id", secretAccessKey: "a/b+c=@:%", sessionToken: "t"))
    var requests: [TransferRequest] = []
    for method in [UploadRequest.Method.post, .put] {
      form.method = method
      requests.append(TransferRequest(.upload(form)))
    }
    for condition in [UploadRequest.Precondition.none, .absent, .entityTag(#""v1""#)] {
      upload.precondition = condition
      requests.append(TransferRequest(.upload(upload)))
    }
    for request in requests {
      let json = try StrictJSON.encode(try NewTransfer(request))
      #expect(try StrictJSON.decode(NewTransfer.self, from: json).request == request)
    }
  }

  @Test func `keeps an upload of a remote resource, and its secrets`() throws {
    var download = DownloadRequest(
      url: try ResourceURL("https://u:p@s.example/f?sig=1"), to: .stream)
    download.headers = [("A", "1")]
    download.checksums = [Checksum("md5=" + String(repeating: "0a", count: 16))!]
    (download.connections, download.maximumSize) = (2, 1 << 40)
    (download.resumesFromOtherURL, download.allowInsecure) = (true, true)
    download.trustedRedirectHosts = ["b", "a"]
    let object = try S3Object(
      bucket: "bucket", key: "k", region: "r", endpoint: ResourceURL("http://h:9"))
    let key = S3Credentials(accessKeyID: "id", secretAccessKey: "s", sessionToken: "t")
    var request = TransferRequest(
      .upload(UploadRequest(from: download, to: object, credentials: key)))
    request.upload?.precondition = .absent
    let json = try StrictJSON.encode(try NewTransfer(request))
    #expect(try StrictJSON.decode(NewTransfer.self, from: json).request == request)
    #expect(request.upload?.source.files == [])
    for wrong in [
      #"{"url":"http://h/k","get":{"url":"f"}}"#, #"{"get":{"url":"http://h/f"}}"#,
      #"{"url":"http://h/k","get":{"url":"http://h/f"},"put":"/f"}"#,
      #"{"url":"http://h/k","get":{"url":"http://h/f"},"method":"post"}"#,
      #"{"url":"http://h/k","get":{"url":"http://h/f","checksums":["x"]}}"#,
    ] {
      #expect(throws: Problem.self, "\(wrong)") { try parsed(wrong) }
    }
  }

  @Test func `refuses a stream, which does not leave its process`() throws {
    let url = try ResourceURL("http://h/x")
    for request in [.download(url, to: .stream), TransferRequest(.upload(UploadRequest(to: url)))] {
      let error = #expect(throws: TransferError.self) { try NewTransfer(request) }
      #expect(error?.code == .notYetSupported)
    }
  }

  @Test func `keeps a program`() throws {
    let request = TransferRequest.step(program: ["/bin/cp", "a"], in: "/d", isIdempotent: true)
    let json = try StrictJSON.encode(try NewTransfer(request))
    #expect(try StrictJSON.decode(NewTransfer.self, from: json).request == request)
  }

  @Test(arguments: [
    (#"{"url":"http://h/x","directory":"/d","secret-key":1}"#, "there is no key 'secret-key'"),
    (#"{"url":7,"directory":"/d"}"#, "a value has the wrong type at url"),
    (
      #"{"url":"http://h/x","directory":"/d","if_exists":"hunter2"}"#,
      "a value is wrong at if_exists"
    ),
    (#"{"headers":[{"name":"a"}]}"#, "the key 'value' is missing at headers.0"),
    ("[", "the body is not JSON, or has a number that is too large"),
    (
      #"{"url":"http://h/x","file":"/x","rate_limit":99999999999999999999}"#,
      "the body is not JSON, or has a number that is too large"
    ),
  ])
  func `is refused with the name of the wrong key, and without its value`(
    json: String, message: String
  ) throws {
    #expect(throws: StrictJSON.Malformed(message)) { try parsed(json) }
  }

  @Test(arguments: [
    (#"{}"#, "a transfer has either a 'url' or a 'run'"),
    (#"{"url":"http://h/x"}"#, "a download has either a 'file' or a 'directory'"),
    (#"{"url":"http://h/x","file":"x"}"#, "the path 'x' is not absolute"),
    (
      #"{"url":"http://h/x","file":"/x","umask":"8"}"#,
      "'umask' is an octal number, such as 022"
    ),
    (#"{"run":[]}"#, "'run' names no program"),
    (#"{"put":"/x"}"#, "a transfer has either a 'url' or a 'run'"),
    (#"{"url":"http://h/x","put":"x"}"#, "the path 'x' is not absolute"),
    (
      #"{"url":"http://h/x","put":"/x","method":"get"}"#,
      "there is no method 'get'; use one of put, post, tus, s3, webdav, resumable"
    ),
    (
      #"{"url":"http://h/x","put":"/x","method":"tus","if_exists":"fail"}"#,
      "'if_match' is for the methods put and s3, 'if_exists' for put, s3 and webdav"
    ),
    (
      #"{"url":"http://h/x","put":"/x","form":[]}"#,
      "an upload has either a 'put' or a 'form'"
    ),
    (#"{"url":"http://h/x","form":[]}"#, "'form' has no 'file'"),
    (#"{"url":"http://h/x","form":[{"name":"n","text":"hunter2"}]}"#, "'form' has no 'file'"),
    (
      #"{"url":"http://h/x","form":[{"name":"","file":"/x"}]}"#,
      "a part of 'form' has an empty 'name'"
    ),
    (
      #"{"url":"http://h/x","form":[{"name":"n","file":"/x","text":"hunter2"}]}"#,
      "a part of 'form' has either a 'text' or a 'file'"
    ),
    (#"{"url":"http://h/x","form":[{"name":"n","file":"x"}]}"#, "the path 'x' is not absolute"),
    (
      #"{"url":"http://h/x","form":[{"name":"n","file":"/x"}],"method":"tus"}"#,
      "'form' is for the methods put and post"
    ),
    (#"{"url":"http://h/x","put":"/x","region":"r"}"#, "'region' is for the method s3"),
    (
      #"{"url":"http://h/x","put":"/x","method":"s3","region":"a/b"}"#,
      "'region' is not the name of a region"
    ),
    (
      #"{"url":"http://h/x?a=b","put":"/x","method":"s3"}"#,
      "the 'url' of an object has no query; a signed address is for the method put"
    ),
    (
      #"{"url":"http://h/x","put":"/x","if_exists":"rename"}"#,
      "'if_exists' of an upload is overwrite, skip, update or fail"
    ),
    (
      #"{"url":"http://h/x","put":"/x","if_exists":"skip","if_match":"\"a\""}"#,
      "'if_exists' and 'if_match' contradict each other"
    ),
    (
      #"{"url":"http://h/x","put":"/x","method":"post","if_exists":"update"}"#,
      "'if_match' is for the methods put and s3, 'if_exists' for put, s3 and webdav"
    ),
    (
      #"{"url":"http://h/k","get":{"url":"http://h/f"},"if_exists":"update"}"#,
      "skip and update of 'if_exists' are for a 'put'"
    ),
    (
      #"{"url":"http://h/x","form":[{"name":"n","file":"/x"}],"if_exists":"skip"}"#,
      "'if_match' is for the methods put and s3, 'if_exists' for put, s3 and webdav"
    ),
    (
      #"{"url":"http://h/x","put":"/x","if_match":"W/\"a\""}"#,
      "'if_match' is a strong entity tag, with its quotes"
    ),
    (#"{"url":"http://h/x","file":"/x","connections":0}"#, "'connections' must be at least 1"),
    (
      #"{"url":"http://h/x","file":"/x","rate_limit":-1}"#, "'rate_limit' must not be negative"
    ),
    (
      #"{"url":"http://h/x","file":"/x","after":[{}]}"#,
      "a dependency has either an 'id' or an 'identifier'"
    ),
  ])
  func `is refused when it makes no sense`(json: String, detail: String) throws {
    let problem = #expect(throws: Problem.self) { try parsed(json) }
    #expect(problem?.status == 422)
    #expect(problem?.detail == detail)
  }
}

/// The place of the daemon.
@Suite
struct ControlLocationTests {
  @Test func `is below XDG_STATE_HOME, or ~/.local/state`() throws {
    #expect(
      try ControlLocation(environment: ["XDG_STATE_HOME": "/s", "HOME": "/h"]).socket
        == "/s/haul/control.sock")
    #expect(
      try ControlLocation(environment: ["XDG_STATE_HOME": "relative", "HOME": "/h"]).list
        == "/h/.local/state/haul/list")
    #expect(throws: TransferError.self) { try ControlLocation(environment: [:]) }
  }

  @Test func `whose socket has too long a path is refused, with what to do`() throws {
    let name = String(repeating: "x", count: 107 - "/".count - "/control.sock".count)
    #expect(try ControlLocation(directory: "/" + name).socket.utf8.count == 107)
    let error = #expect(throws: TransferError.self) { try ControlLocation(directory: "/x" + name) }
    #expect(error?.message.contains("set XDG_STATE_HOME to a shorter path") ?? false)
  }
}

/// The beginning of an id.
@Suite
struct PrefixTests {
  @Test func `matches every id that begins with it, in either case`() throws {
    let id = try #require(TransferID("4FZ0ABCD"))
    for text in ["4", "4f", "4FZO", "4fz0abcd"] {
      #expect(try #require(TransferID.Prefix(text)).matches(id), "\(text)")
    }
    #expect(try !#require(TransferID.Prefix("4G")).matches(id))
    #expect(TransferID.Prefix("") == nil)
    #expect(TransferID.Prefix("4FZ0ABCDE") == nil)
    #expect(TransferID.Prefix("4!") == nil)
  }

  @Test func `A body with more values than any list needs is not read`() {
    let zeros = repeatElement("0", count: 250_001).joined(separator: ",")
    let body = Data(#"{"transfers":[{"url":"https://h/a","after":[\#(zeros)]}]}"#.utf8)
    let error = #expect(throws: StrictJSON.Malformed.self) {
      try StrictJSON.decode(AddBody.self, from: body)
    }
    #expect(error?.message == "the body has more than 250000 values")
    let text = Data((#"{"is_suspended":true}"# + String(repeating: " ", count: 300_000)).utf8)
    #expect(throws: Never.self) { try StrictJSON.decode(QueueDocument.self, from: text) }
  }

  @Test func `A schedule has at most a hundred windows`() throws {
    let window = #"{"days":["monday"],"from":"01:00","to":"02:00"}"#
    func limits(_ count: Int) throws -> LimitsDocument {
      let windows = repeatElement(window, count: count).joined(separator: ",")
      return try StrictJSON.decode(
        LimitsDocument.self, from: Data(#"{"schedule":[\#(windows)]}"#.utf8))
    }
    #expect(try limits(100).schedule?.count == 100)
    #expect(throws: StrictJSON.Malformed.self) { try limits(101) }
    #expect(
      try StrictJSON.decode(LimitsDocument.self, from: Data(#"{"schedule":null}"#.utf8)).schedule
        == nil)
  }

}

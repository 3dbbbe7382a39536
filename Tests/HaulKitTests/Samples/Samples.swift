import FoundationEssentials
import HaulClient
import HaulKit

// The samples of the documents. Compiling them is the test; SampleTests checks that they are equal
// to the printed ones. Around each are the declarations that a reader has.

final class Label {
  var text = ""
}

private struct Sample {
  let stored: (number: Int?, isThere: Bool)
  var rows: [TransferSummary] = []
  let manager: TransferManager

  func apply(_ event: TransferEvent) {}

  // docs/events.md
  mutating func events() async {
    var last = stored.number  // of the last event that was handled; nil at first
    for await event in manager.events(after: last) {
      switch event {
      case .reset(let snapshot):
        rows = snapshot.transfers
        last = snapshot.number
      case .transfer(let event):
        apply(event)
        last = event.number ?? last
      }
    }
  }

  func ask(toFree bytes: Int64, on directory: String) {}
  func offer(toRetry id: TransferID) {}

  // docs/waiting.md
  @MainActor func explain(_ label: Label, _ transfer: Transfer) async {
    switch await transfer.waitReason {
    case .diskFull(let shortage): ask(toFree: shortage.needed, on: shortage.directory)
    case .dependency(let other, isBlocked: true): offer(toRetry: other)
    case let reason?: label.text = reason.description(at: Date())
    case nil: break
    }
  }

  // docs/library.md
  func upload() async throws {
    let upload = try TransferRequest.upload(
      "report.pdf", to: ResourceURL("https://example.com/files/report.pdf")
    ) {
      $0.precondition = .absent
      $0.headers = ["Content-Type": "application/pdf"]
    }
    let result = try await manager.add(upload).result
    print(result.state)
  }

  // docs/library.md
  func uploadObject(id: String, secret: String) async throws {
    let object = try S3Object(bucket: "backups", key: "2026/disk.img", region: "eu-central-1")
    let key = S3Credentials(accessKeyID: id, secretAccessKey: secret)
    let upload = UploadRequest("disk.img", to: object, credentials: key)
    let result = try await manager.add(TransferRequest(.upload(upload))).result
    print(result.state)
  }

  // docs/library.md
  func downloadObject(_ object: S3Object, key: S3Credentials) async throws {
    let download = DownloadRequest(object, credentials: key, to: .file("disk.img"))
    let result = try await manager.add(TransferRequest(.download(download))).result
    print(result.state)
  }

  // docs/library.md
  func uploadRemote(id: String, secret: String, token: String) async throws {
    var source = DownloadRequest(url: try ResourceURL("https://example.com/disk.img"), to: .stream)
    source.headers = ["Authorization": "Bearer \(token)"]
    let object = try S3Object(bucket: "backups", key: "2026/disk.img", region: "eu-central-1")
    let key = S3Credentials(accessKeyID: id, secretAccessKey: secret)
    let upload = UploadRequest(from: source, to: object, credentials: key)
    let result = try await manager.add(TransferRequest(.upload(upload))).result
    print(result.state)
  }

  // docs/library.md
  func uploadBytes() async throws {
    let (lines, input) = AsyncStream.makeStream(of: Data.self)
    input.yield(Data("first line\n".utf8))
    input.finish()
    let upload = UploadRequest(to: try ResourceURL("https://example.com/files/log.txt"))
    let transfer = try await manager.add(TransferRequest(.upload(upload)), bytes: lines)
    print(try await transfer.result.state)
  }

  actor Tokens {
    func current(isRefused: Bool) throws -> String { isRefused ? "new" : "old" }
  }

  // docs/library-reference.md
  func signed(_ tokens: Tokens) {
    var configuration = TransferManager.Configuration()
    configuration.prepare = { request in
      let token = try await tokens.current(isRefused: request.attempt > 1)
      return ["Authorization": "Bearer \(token)"]
    }
  }

  // docs/library-reference.md
  func background(_ manager: TransferManager, _ url: ResourceURL) async throws {
    let client = try TransferClient(manager)  // the manager runs the foreground
    var request = TransferRequest.download(url, to: .file("/data/big.iso"))
    request.identifier = "big"
    request.isBackground = true
    try await client.add(request)
  }

  // docs/waiting.md
  func nights() {
    var configuration = TransferManager.Configuration()
    configuration.schedule = Schedule(
      [
        .init(.workdays, from: 22 * 60, to: 6 * 60),  // until 06:00 of the next day
        .init([.sunday], from: 0, to: 24 * 60),
      ], timeZone: "Europe/Berlin")
  }

  // HaulKit.md, the first page of the documentation
  func page(_ url: ResourceURL) async throws {
    let manager = try TransferManager()
    let file = try await manager.add(.download(url, to: .directory("downloads")))
    print(try await file.result.path ?? "")
    await manager.shutdown()
  }

  // README.md
  func first() async throws {
    let manager = try TransferManager()
    let file = try await manager.add(
      .download(ResourceURL(CommandLine.arguments[1]), to: .directory("downloads")))
    print(try await file.result.path ?? "")
    await manager.shutdown()
  }
}

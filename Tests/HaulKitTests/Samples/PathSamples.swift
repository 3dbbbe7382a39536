import Foundation
import HaulKit
import HaulStore

// The samples of docs/library.md, in its order; as in Samples.swift.

private struct PathSample {
  let manager: TransferManager
  let addresses: [ResourceURL]

  func first() async throws {
    let url = try ResourceURL("https://example.com/big.iso")
    let result = try await withTransferManager { manager in
      try await manager.download(url, to: .directory("downloads"))
    }
    print(result.path ?? "", result.bytes)
  }

  func probe(_ url: ResourceURL) async throws {
    let found = try await manager.probe(url)
    print(found.fileName, found.length ?? 0, found.plan.resumes)
  }

  @MainActor func download(_ label: Label, _ url: ResourceURL, _ path: String) async throws {
    let result = try await manager.download(url, to: .file(path), onCancel: .pause) { progress in
      label.text = progress.percent.map { "\($0) %" } ?? "…"  // in the caller's isolation
    }
    print(result)
  }

  func follow(_ url: ResourceURL) async throws {
    let transfer = try await manager.add(.download(url, to: .file("big.iso")))
    for await event in transfer.events() {
      switch event.kind {
      case .progress(let progress): print("\(progress.percent ?? 0) %")
      case .waiting(let reason): print(reason.description(at: Date()))
      case .finished(let result): print(result.state)
      default: break
      }
    }
  }

  func consume(_ bytes: [UInt8]) {}

  func read(_ url: ResourceURL) async throws {
    let stream = try await manager.add(.download(url, to: .stream))
    for try await chunk in try await stream.bytes {
      consume(chunk.bytes)  // in order; a slow reader slows the network
    }
  }

  func progress(of transfer: Transfer) -> Progress {
    let progress = Progress(totalUnitCount: -1)  // until the length is known
    progress.cancellationHandler = { Task { try await transfer.cancel() } }
    progress.pausingHandler = { Task { try await transfer.pause() } }
    progress.resumingHandler = { Task { try await transfer.resume() } }
    Task {
      for await event in transfer.events() {
        guard case .progress(let reported) = event.kind else { continue }
        progress.totalUnitCount = reported.total ?? -1
        progress.completedUnitCount = reported.bytes
      }
    }
    return progress
  }

  func news() async throws -> Data? {
    let bytes = try await manager.add("https://example.com/news.json", to: .stream).bytes
    guard try await bytes.head.headers["Content-Type"] == "application/json" else { return nil }
    return try await bytes.collect(upTo: 1 << 20)  // Data; more is an error
  }

  func note(_ text: String) async throws {
    let upload = try await manager.add(Data(text.utf8), to: "https://example.com/notes") {
      $0.method = .post
      $0.headers["Content-Type"] = "text/plain"
    }
    let answer = try await upload.result.response
    print(answer?.status ?? 0, answer?.headers["Location"] ?? "", answer?.body ?? Data())
  }

  func many() async throws {
    let requests = addresses.map { TransferRequest.download($0, to: .directory("downloads")) }
    let transfers = try await manager.add(requests)
    await manager.waitUntilEmpty()
    print(await manager.counts[.completed] ?? 0, "of", transfers.count)
  }

  func limits() throws -> TransferManager {
    var configuration = TransferManager.Configuration()
    configuration.maximumActive = 16
    configuration.maximumActivePerHost = 16  // a host is a name and a port; 4 by default
    configuration.rateLimit = 20 << 20  // bytes per second, all transfers together
    let manager = try TransferManager(configuration)
    return manager
  }

  func changes() async throws {
    await manager.setLimits(maximumActive: 4, maximumActivePerHost: 2)  // the other limits stay
    manager.setRateLimit(5 << 20)  // nil for none
    await manager.suspend()  // nothing new starts until unsuspend()
    print(manager.isSuspended)
  }

  func order(_ transfer: Transfer, second: Transfer, third: Transfer, other: Transfer) async throws
  {
    try await transfer.setPriority(.userInitiated)
    try await transfer.move(to: .first)  // or .last, .before(other), .after(other)
    _ = try await manager.move([third, second], to: .after(transfer))
    try await other.start()  // before all others, in the next free slot
  }

  func list() async throws {
    for row in try await manager.rows() {
      print(row.name, row.address ?? "", row.state, row.fraction ?? 0, row.waitReason?.code ?? "")
    }
    for transfer in try await manager.transfers(of: .group("season")) {
      print(transfer.url?.description ?? "a step", await transfer.state ?? .stopping)
    }
  }

  func pages() async throws {
    var page = try await manager.summaries(after: nil, atMost: 100)
    while let last = page.last {
      for row in try await manager.rows(of: .ids(page.map(\.id))) { print(row.name, row.state) }
      page = try await manager.summaries(after: last.id, atMost: 100)
    }
  }

  func group() async throws {
    let season = addresses.map { url in
      var request = TransferRequest.download(url, to: .directory("season"))
      request.group = "season"
      return request
    }
    try await manager.add(season)
    let results = try await manager.group("season").completion()
    print(results.values.count { $0.state == .completed }, "of", results.count)
  }

  func commands(_ transfer: Transfer, _ transfers: [Transfer]) async throws {
    try await transfer.pause()  // returns when its connections are closed; its bytes are kept
    try await transfer.resume()
    let report = try await manager.pause(.group("season"))
    for (id, refusal) in report.refused { print(id, refusal) }
    _ = try await manager.retry(.filter { $0.state == .failed })
    _ = try await manager.cancel(transfers)
  }

  func survive(_ url: ResourceURL) async throws {
    let manager = try await TransferManager(directory: "queue")
    var request = TransferRequest.download(url, to: .file("app.tar.gz"))
    request.identifier = "app"
    try await manager.add(request)  // adds it, or finds it by its identifier
    for transfer in try await manager.transfers() {
      transfer.onEnd { result in print(transfer.url?.description ?? "", result.state) }
    }
  }

  func durable(_ url: ResourceURL, _ path: String, _ checksum: Checksum) -> TransferRequest {
    let request = TransferRequest.download(url, to: .file(path)) { download in
      download.durability = .relaxed  // survives the process, not a power cut
      download.checksums = [checksum]  // the whole file must have this digest
    }
    return request
  }

  func unpack(_ url: ResourceURL) async throws {
    let archive = try await manager.add(
      .download(url, to: .file("work/app.tar.gz")) { $0.createsDirectories = true })
    var unpack = TransferRequest.step(
      program: ["tar", "-xzf", "app.tar.gz"], in: "work", isIdempotent: true)
    unpack.after = [archive]
    try await manager.add(unpack)
  }

  func steps(_ files: [String], _ load: @escaping @Sendable (String) async throws -> Void)
    async throws
  {
    manager.register(step: "import") { step in
      for (index, file) in files.enumerated() {
        try step.checkpoint()  // throws when the step was paused or cancelled
        try await load(file)
        step.progress(Int64(index + 1), of: Int64(files.count))
      }
    }
    try await manager.add(.step("import"))
  }

  @MainActor func errors(_ label: Label, _ transfer: Transfer, _ freshURL: ResourceURL) async throws
  {
    do throws(TransferError) {
      print(try await transfer.result.bytes)
    } catch {
      switch error.code {
      case .unauthorized, .forbidden, .needsNewURL:
        try await transfer.set { $0.download?.url = freshURL }
        try await transfer.retry()  // resumes, if the new address serves the same version
      case .cancelled: break
      default: label.text = error.message
      }
    }
  }

  protocol Downloads: Sendable {
    func download(_ url: ResourceURL, to path: String) async throws -> TransferResult
  }

  struct FakeDownloads: Downloads {
    func download(_ url: ResourceURL, to path: String) async throws -> TransferResult {
      TransferResult(state: .completed, path: path, bytes: 3)
    }
  }

  func suspended(_ url: ResourceURL, _ path: String) async throws {
    var configuration = TransferManager.Configuration()
    configuration.isSuspended = true
    let reason = try await withTransferManager(configuration) { manager in
      try await manager.add(.download(url, to: .file(path))).waitReason
    }
    print(reason == .suspended)
  }
}

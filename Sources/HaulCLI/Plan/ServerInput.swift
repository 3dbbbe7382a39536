import HaulControl
import HaulCore
import HaulKit

/// Reads the input of a command from servers, with options of `haul get`.
struct ServerInput: Sendable {
  /// A list or a manifest, and which server has it.
  struct Request: Sendable {
    let address: String
    let download: DownloadRequest
    let server: ListServer
  }

  let get: GetCommand
  private let sources: CommandSources
  private let headers: [HeaderArgument.Field]

  init(_ get: GetCommand, _ sources: CommandSources) throws(UsageError) {
    (self.get, self.sources) = (get, sources)
    headers = try get.requests.fields(sources)
  }

  func request(
    for address: String, in store: inout CommandStore
  ) throws(UsageError) -> Request {
    let item = try GetItem(address, in: &store)
    var requests = try ItemRequests(get, sources, from: item.url)
    var download = try requests.request(for: item)
    // These options are for the files.
    (download.checksums, download.resumesFromOtherURL) = ([], false)
    download.maximumSize = Int64(CommandSources.Purpose.list.maximumSize)
    let server = ListServer(origin: item.url.origin, isStore: item.object != nil)
    return Request(address: address, download: download, server: server)
  }

  func manager(_ context: ProcessContext) throws -> TransferManager {
    try TransferManager(try get.configuration(context.environment))
  }

  /// The text of a list, with the server that has sent it.
  func list(
    _ request: Request, _ manager: TransferManager, _ clock: any TransferClock
  ) async throws -> ListText {
    let (file, result) = try await fetch(
      request.download, "the list \(ListServer.path(of: request.address)): ", manager, clock)
    if let problem = result.problemOfList { throw problem }
    // Its author is there, and may do what an ordinary redirect may.
    let author = result.sender.map {
      ListServer(origin: $0.origin, isStore: false, isRedirected: true)
    }
    return ListText(file.read, of: author ?? request.server)
  }

  /// What a server sends. If that was cut off, it is asked again, as nothing of it was used.
  /// - Parameter name: for messages.
  func fetch(
    _ request: DownloadRequest, _ name: String, _ manager: TransferManager,
    _ clock: any TransferClock
  ) async throws -> (ListFile, TransferResult) {
    var retries = 0
    while true {
      let file = ListFile(nil, sources.environment)
      do throws(any Error) {
        let transfer = try await manager.add(request)
        for try await chunk in try await transfer.bytes {
          try file.append(chunk.withUnsafeBytes { Array($0) })
        }
        return (file, try await transfer.result)
      } catch let error as TransferError {
        let isCut = error.cause == .begunStream
        guard isCut, retries < min(request.retry.retries, Self.mostRetries) else {
          throw (isCut ? Self.cutOff(error) : error).prefixed(name)
        }
        retries += 1
        try await clock.sleep(until: clock.now + .seconds(retries))
      }
    }
  }

  private static let mostRetries = 3

  private static func cutOff(_ error: TransferError) -> TransferError {
    TransferError(
      error.code, error.fact, advice: "each time it was cut off; try again later",
      status: error.status, isRetryable: true)
  }

  /// Passes all pages of the objects below a prefix to `take`.
  func forEachPage(
    of place: ObjectRows.Place, in store: S3Settings, _ manager: TransferManager,
    _ clock: any TransferClock, _ take: (S3ListPage) throws -> Void
  ) async throws {
    var token = String?.none
    repeat {
      let page = try await page(of: place, in: store, after: token, manager, clock)
      try take(page)
      token = page.next
    } while token != nil
  }

  private func page(
    of place: ObjectRows.Place, in store: S3Settings, after token: String?,
    _ manager: TransferManager, _ clock: any TransferClock
  ) async throws -> S3ListPage {
    let object = try S3Object(
      listOf: place.bucket, S3ListPage.query(below: place.prefix, after: token),
      region: store.region, endpoint: store.endpoint, addressing: store.addressing)
    var request = DownloadRequest(url: object.url, to: .stream)
    request.headers = HeaderFields(headers)
    get.requests.apply(to: &request)
    request.take(object, store.credentials, store.keySource)
    request.maximumSize = Int64(S3ListPage.maximumSize)
    var retries = 0
    while true {
      let (file, _) = try await fetch(request, "\(place.address): ", manager, clock)
      do {
        let body = try file.read(0, S3ListPage.maximumSize)
        return try S3ListPage(body, below: place.prefix, after: token)
      } catch let error as TransferError {
        // What ends with the connection may be cut off.
        guard error.isRetryable, retries < min(request.retry.retries, Self.mostRetries) else {
          throw error.prefixed("\(place.address): ")
        }
        retries += 1
        try await clock.sleep(until: clock.now + .seconds(retries))
      }
    }
  }

  /// The status of a command whose input does not come.
  func fail(_ error: any Error) async -> ExitStatus {
    guard let error = error as? TransferError else { return await OutputStream.fail(error) }
    let isTemporary = get.worker.worker && error.isTemporary
    return await OutputStream.fail(error.commandLineText, with: isTemporary ? .tryAgain : .failed)
  }
}

extension TransferResult {
  /// Why what came may not be a whole list.
  var problemOfList: TransferError? {
    let advice = "save the list, look at it, and give the file"
    if verified == .unverified {
      return TransferError(
        .protocolViolation,
        "the list may be cut off: the server does not say how long it is", advice: advice)
    }
    return warning.map { TransferError(.protocolViolation, $0.text, advice: advice) }
  }
}

extension GetCommand {
  /// That of a manager which asks servers for the input of the command.
  func configuration(
    _ environment: [String: String]
  ) throws -> TransferManager.Configuration {
    let options = try ManagerOptions(limits, connections)
    var configuration = try options.configuration(logger: nil, environment: environment)
    configuration.keyAccess = S3KeyAccess(environment)
    return configuration
  }
}

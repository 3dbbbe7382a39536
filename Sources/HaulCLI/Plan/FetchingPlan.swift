import HaulControl
import HaulCore
import HaulKit

/// A command whose input may be on servers: lists by their addresses, and the objects below
/// prefixes.
protocol FetchingCommand: Command {
  var urls: [String] { get set }
  var destination: DestinationOptions { get set }
  var content: ContentOptions { get set }
  /// `haul get` with the same options, with which servers are asked.
  var asGet: GetCommand { get throws(UsageError) }
}

/// Asks servers for the input of a command, and then does what it does with the same input in
/// files.
package struct FetchingPlan: CommandPlan {
  private let command: any FetchingCommand
  private let get: GetCommand
  private let sources: CommandSources
  private let lists: [(address: String, request: DownloadRequest, server: ListServer)]
  private let places: [ObjectRows.Place]
  /// Nil if there is none, or it is a file of this machine.
  private let manifest: (address: String, object: CommandStore.Object)?
  private let store: S3Settings?
  private let headers: [HeaderArgument.Field]
  private let naming: ObjectRows.Naming

  /// Nil if no input is on a server, or all of it was asked for.
  init?(_ command: some FetchingCommand, _ sources: CommandSources) throws(UsageError) {
    let prefixes = command.urls.filter { PutPlan.isS3($0) && $0.endsWithSlash }
    let files = command.content.inputFiles.filter {
      ListServer.has($0) && sources.fetched[$0] == nil
    }
    let get = try command.asGet
    var manifest = try get.storedManifest(sources)
    if let address = manifest?.address, sources.manifests[address] != nil { manifest = nil }
    guard !prefixes.isEmpty || !files.isEmpty || manifest != nil else { return nil }
    if let first = prefixes.first, !command.content.inputFiles.isEmpty {
      throw UsageError("\(first): objects are listed, so -i is for another run")
    }
    guard Set(prefixes).count == prefixes.count, Set(files).count == files.count else {
      throw UsageError("the address of a prefix or a list is given twice")
    }
    let output = command.destination.output
    if let first = prefixes.first, output != nil, !PutPlan.isRemote(output) {
      throw UsageError("-o names one file, but \(first) may have several objects; use -d")
    }
    naming = output.map { $0.endsWithSlash ? .keys : .template } ?? .files
    (self.command, self.sources, self.get) = (command, sources, get)
    headers = try get.requests.fields(sources)
    places = prefixes.map(ObjectRows.Place.init)
    store = places.isEmpty ? nil : try S3Settings(get.s3, sources)
    for place in places {
      // The keys below it must have addresses.
      _ = try UsageError.checked(
        S3Object(bucket: place.bucket, key: "\(place.prefix)k", region: store?.region ?? ""),
        at: place.address)
    }
    var objects = CommandStore(get.s3, sources)
    var lists: [(String, DownloadRequest, ListServer)] = []
    for file in files { lists.append(try Self.list(file, get, &objects, sources)) }
    self.lists = lists
    self.manifest = manifest
  }

  private static func list(
    _ address: String, _ get: GetCommand, _ store: inout CommandStore, _ sources: CommandSources
  ) throws(UsageError) -> (String, DownloadRequest, ListServer) {
    let item = try GetItem(address, in: &store)
    var requests = try ItemRequests(get, sources, from: item.url)
    var request = try requests.request(for: item)
    // These options are for the files.
    (request.checksums, request.resumesFromOtherURL) = ([], false)
    request.maximumSize = Int64(CommandSources.Purpose.list.maximumSize)
    let server = ListServer(origin: item.url.origin, isStore: item.object != nil)
    return (address, request, server)
  }

  package func run(in context: ProcessContext) async -> ExitStatus {
    if let refusal = context.limits.refusal { return await OutputStream.fail(refusal) }
    var (rows, sources, stored) = (ObjectRows(naming), sources, StoredManifest?.none)
    do {
      let manager = try TransferManager(try get.configuration(context.environment))
      for (address, request, server) in lists {
        let (file, result) = try await fetch(
          request, "the list \(ListServer.path(of: address)): ", manager, context.clock)
        if let problem = result.problemOfList { throw problem }
        // Its author is there, and may do what an ordinary redirect may.
        let author = result.sender.map {
          ListServer(origin: $0.origin, isStore: false, isRedirected: true)
        }
        sources.fetched[address] = ListText(file.read, of: author ?? server)
      }
      if let manifest {
        do throws(TransferError) {
          let taken = try StoredManifest(manifest.object, get.requests, context)
          sources.manifests[manifest.address] = try await taken.take(by: manager)
          stored = taken
        } catch {
          throw error.prefixed("the manifest \(manifest.address): ")
        }
      }
      for place in places {
        sources.fetched[place.address] = ListText(
          try await list(place, &rows, manager, context.clock).read)
      }
      await manager.shutdown()
    } catch let error as TransferError {
      let isTemporary = get.worker.worker && error.isTemporary
      return await OutputStream.fail(
        error.commandLineText, with: isTemporary ? .tryAgain : .failed)
    } catch {
      return await OutputStream.fail(error)
    }
    for refusal in rows.refusals.prefix(Self.shownRefusals) { await OutputStream.warn(refusal) }
    let more = rows.refusals.count - Self.shownRefusals
    if more > 0 { await OutputStream.warn("\(Units.count(more)) more objects cannot be got") }
    var status = await run(sources, rows, context)
    if let stored, let manifest {
      status = await publish(stored, named: manifest.address, after: status, context)
    }
    return status == .completed && !rows.refusals.isEmpty ? .failed : status
  }

  /// Stores the manifest, by a manager of its own: that of the files has ended.
  private func publish(
    _ manifest: StoredManifest, named name: String, after status: ExitStatus,
    _ context: ProcessContext
  ) async -> ExitStatus {
    do {
      let manager = try TransferManager(try get.configuration(context.environment))
      try await manifest.publish(by: manager)
      await manager.shutdown()
      return status
    } catch {
      let problem = error as? TransferError
      await OutputStream.warn("the manifest \(name): \(problem?.commandLineText ?? "\(error)")")
      guard status == .completed else { return status }
      return get.worker.worker && problem?.isTemporary == true ? .tryAgain : .failed
    }
  }

  private static let shownRefusals = 100

  /// What a server sends. If that was cut off, it is asked again, as nothing of it was used.
  /// - Parameter name: for messages.
  private func fetch(
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

  /// The rows of all pages.
  private func list(
    _ place: ObjectRows.Place, _ rows: inout ObjectRows, _ manager: TransferManager,
    _ clock: any TransferClock
  ) async throws -> ListFile {
    let list = ListFile(nil, sources.environment)
    var token = String?.none
    repeat {
      let page = try await page(of: place, after: token, manager, clock)
      try list.append(Array(rows.rows(of: page, below: place).utf8))
      token = page.next
    } while token != nil
    return list
  }

  private func page(
    of place: ObjectRows.Place, after token: String?, _ manager: TransferManager,
    _ clock: any TransferClock
  ) async throws -> S3ListPage {
    guard let store else { throw S3Options.misused }
    let object = try S3Object(
      listOf: place.bucket, S3ListPage.query(below: place.prefix, after: token),
      region: store.region, endpoint: store.endpoint, addressing: store.addressing)
    var request = DownloadRequest(url: object.url, to: .stream)
    request.headers = headers
    get.requests.apply(to: &request)
    request.take(object, store.credentials, store.keySource)
    request.maximumSize = Int64(S3ListPage.maximumSize)
    let (file, _) = try await fetch(request, "\(place.address): ", manager, clock)
    do {
      let body = try file.read(0, S3ListPage.maximumSize)
      return try S3ListPage(body, below: place.prefix, after: token)
    } catch let error as TransferError {
      throw error.prefixed("\(place.address): ")
    }
  }

  /// Runs the command with what was fetched.
  private func run(
    _ sources: CommandSources, _ rows: ObjectRows, _ context: ProcessContext
  ) async -> ExitStatus {
    var command = command
    if !places.isEmpty {
      command.urls.removeAll { sources.fetched[$0] != nil }
      guard rows.count > 0 || !command.urls.isEmpty else {
        await OutputStream.warn("\(places[0].address): there is no object")
        return get.worker.worker ? .completed : .failed
      }
      command.content.inputFiles = places.map(\.address).filter { address in
        (try? sources.fetched[address]?.read(0, 1))?.isEmpty == false
      }
      (command.content.table.inputFormat, command.content.table.columns) = (.jsonl, [:])
      if naming == .files, command.destination.directory == nil {
        command.destination.directory = "."
      }
    }
    do {
      return try await command.plan(sources).run(in: context)
    } catch {
      return await OutputStream.fail(error.message, with: .usage)
    }
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

extension TransferResult {
  /// Why what came may not be a whole list.
  fileprivate var problemOfList: TransferError? {
    let advice = "save the list, look at it, and give the file"
    if verified == .unverified {
      return TransferError(
        .protocolViolation,
        "the list may be cut off: the server does not say how long it is", advice: advice)
    }
    return warning.map { TransferError(.protocolViolation, $0.text, advice: advice) }
  }
}

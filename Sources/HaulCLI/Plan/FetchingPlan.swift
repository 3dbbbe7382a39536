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
  private let input: ServerInput
  private let sources: CommandSources
  private let lists: [ServerInput.Request]
  private let places: [ObjectRows.Place]
  /// Nil if there is none, or it is a file of this machine.
  private let manifest: (address: String, object: CommandStore.Object)?
  private let store: S3Settings?
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
    (self.command, self.sources, input) = (command, sources, try ServerInput(get, sources))
    places = prefixes.map(ObjectRows.Place.init)
    store = places.isEmpty ? nil : try S3Settings(get.s3, sources)
    for place in places {
      // The keys below it must have addresses.
      _ = try UsageError.checked(
        S3Object(bucket: place.bucket, key: "\(place.prefix)k", region: store?.region ?? ""),
        at: place.address)
    }
    var objects = CommandStore(get.s3, sources)
    var lists: [ServerInput.Request] = []
    for file in files { lists.append(try input.request(for: file, in: &objects)) }
    self.lists = lists
    self.manifest = manifest
  }

  package func run(in context: ProcessContext) async -> ExitStatus {
    if let refusal = context.limits.refusal { return await OutputStream.fail(refusal) }
    var (rows, sources, stored) = (ObjectRows(naming), sources, StoredManifest?.none)
    do {
      let manager = try input.manager(context)
      for request in lists {
        sources.fetched[request.address] = try await input.list(request, manager, context.clock)
      }
      if let manifest {
        do throws(TransferError) {
          let taken = try StoredManifest(manifest.object, input.get.requests, context)
          sources.manifests[manifest.address] = try await taken.take(by: manager)
          stored = taken
        } catch {
          throw error.prefixed("the manifest \(manifest.address): ")
        }
      }
      for place in places {
        guard let store else { throw S3Options.misused }
        let list = ListFile(nil, sources.environment)
        try await input.forEachPage(of: place, in: store, manager, context.clock) { page in
          try list.append(Array(rows.rows(of: page, below: place).utf8))
        }
        sources.fetched[place.address] = ListText(list.read)
      }
      await manager.shutdown()
    } catch {
      return await input.fail(error)
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
      let manager = try input.manager(context)
      try await manifest.publish(by: manager)
      await manager.shutdown()
      return status
    } catch {
      let problem = error as? TransferError
      await OutputStream.warn("the manifest \(name): \(problem?.commandLineText ?? "\(error)")")
      guard status == .completed else { return status }
      return input.get.worker.worker && problem?.isTemporary == true ? .tryAgain : .failed
    }
  }

  private static let shownRefusals = 100

  /// Runs the command with what was fetched.
  private func run(
    _ sources: CommandSources, _ rows: ObjectRows, _ context: ProcessContext
  ) async -> ExitStatus {
    var command = command
    if !places.isEmpty {
      command.urls.removeAll { sources.fetched[$0] != nil }
      guard rows.count > 0 || !command.urls.isEmpty else {
        await OutputStream.warn("\(places[0].address): there is no object")
        return input.get.worker.worker ? .completed : .failed
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

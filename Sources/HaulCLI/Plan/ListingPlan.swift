import HaulControl
import HaulCore
import HaulKit

/// `haul get s3://bucket/prefix/`: asks for the list of the objects, and gets them as those of a
/// list.
package struct ListingPlan: CommandPlan {
  private let command: GetCommand
  private let places: [ObjectRows.Place]
  private let store: S3Settings
  private let headers: [HeaderArgument.Field]
  private let naming: ObjectRows.Naming

  /// Nil if no address is that of a prefix.
  init?(_ command: GetCommand, _ sources: CommandSources) throws(UsageError) {
    let addresses = command.urls.filter { PutPlan.isS3($0) && $0.endsWithSlash }
    guard let first = addresses.first else { return nil }
    guard command.content.inputFiles.isEmpty else {
      throw UsageError("\(first): objects are listed, so -i is for another run")
    }
    guard Set(addresses).count == addresses.count else {
      throw UsageError("an address that ends with '/' is given twice")
    }
    let output = command.destination.output
    guard output == nil || PutPlan.isRemote(output) else {
      throw UsageError("-o names one file, but \(first) may have several objects; use -d")
    }
    naming = output.map { $0.endsWithSlash ? .keys : .template } ?? .files
    places = addresses.map(ObjectRows.Place.init)
    store = try S3Settings(command.s3, sources)
    headers = try command.requests.fields(sources)
    self.command = command
    for place in places {
      do throws(TransferError) {
        // The keys below it must have addresses.
        _ = try S3Object(bucket: place.bucket, key: "\(place.prefix)k", region: store.region)
      } catch {
        throw UsageError("\(place.address): \(error.message)")
      }
    }
  }

  package func run(in context: ProcessContext) async -> ExitStatus {
    if let refusal = context.limits.refusal { return await OutputStream.fail(refusal) }
    var rows = ObjectRows(naming)
    var lists: [String: String] = [:]
    do {
      let manager = try TransferManager(try configuration(context.environment))
      for place in places { lists[place.address] = try await list(place, &rows, manager) }
      await manager.shutdown()
    } catch let error as TransferError {
      let isTemporary = command.worker.worker && error.isTemporary
      return await OutputStream.fail(
        error.commandLineText, with: isTemporary ? .tryAgain : .failed)
    } catch {
      return await OutputStream.fail(error)
    }
    for refusal in rows.refusals.prefix(Self.shownRefusals) { await OutputStream.warn(refusal) }
    let more = rows.refusals.count - Self.shownRefusals
    if more > 0 { await OutputStream.warn("\(Units.count(more)) more objects cannot be got") }
    let status = await get(lists, count: rows.count, context)
    return status == .completed && !rows.refusals.isEmpty ? .failed : status
  }

  private static let shownRefusals = 100

  private func configuration(
    _ environment: [String: String]
  ) throws -> TransferManager.Configuration {
    let options = try ManagerOptions(command.limits, command.connections)
    var configuration = try options.configuration(logger: nil, environment: environment)
    configuration.keyAccess = S3KeyAccess(environment)
    return configuration
  }

  /// The rows of all pages.
  private func list(
    _ place: ObjectRows.Place, _ rows: inout ObjectRows, _ manager: TransferManager
  ) async throws -> String {
    var (list, token) = ("", String?.none)
    do {
      repeat {
        let page = try await page(of: place, after: token, manager)
        list += rows.rows(of: page, below: place)
        token = page.next
      } while token != nil
    } catch let error as TransferError {
      throw error.prefixed("\(place.address): ")
    }
    return list
  }

  private func page(
    of place: ObjectRows.Place, after token: String?, _ manager: TransferManager
  ) async throws -> S3ListPage {
    let object = try S3Object(
      listOf: place.bucket, S3ListPage.query(below: place.prefix, after: token),
      region: store.region, endpoint: store.endpoint, addressing: store.addressing)
    var request = DownloadRequest(url: object.url, to: .stream)
    request.headers = headers
    command.requests.apply(to: &request)
    request.take(object, store.credentials, store.keySource)
    var body: [UInt8] = []
    for try await chunk in try await manager.bytes(of: try await manager.add(request)) {
      chunk.withUnsafeBytes { body += $0 }
      guard body.count <= S3ListPage.maximumSize else {
        throw TransferError(.tooLarge, "a page of the store's list of objects is too long")
      }
    }
    return try S3ListPage(body, below: place.prefix, after: token)
  }

  /// Gets the objects, whose lists have the names of the prefixes.
  private func get(
    _ lists: [String: String], count: Int, _ context: ProcessContext
  ) async -> ExitStatus {
    var command = command
    command.urls.removeAll { lists[$0] != nil }
    guard count > 0 || !command.urls.isEmpty else {
      await OutputStream.warn("\(places[0].address): there is no object")
      return command.worker.worker ? .completed : .failed
    }
    command.content.inputFiles = places.map(\.address).filter { lists[$0]?.isEmpty == false }
    (command.content.table.inputFormat, command.content.table.columns) = (.jsonl, [:])
    // A pipe that had them is read only once.
    command.requests.headers = headers.map { "\($0.name): \($0.value)" }
    if naming == .files, command.destination.directory == nil {
      command.destination.directory = "."
    }
    var sources = CommandSources.process()
    let list = sources.list
    sources.list = { (path) throws(UsageError) in
      if let rows = lists[path] { return ListText(rows) }
      return try list(path)
    }
    do {
      return try await command.plan(sources).run(in: context)
    } catch {
      return await OutputStream.fail(error.message, with: .usage)
    }
  }
}

import HaulCore
import HaulKit

/// What was found beside the files of a command.
struct NeighbourChecksums: Sendable {
  var checksums: [ResourceURL: [Checksum]] = [:]
  /// For the user, before the start.
  var notes: [String] = []
}

/// Asks servers for lists of digests, and then does what the command does with the same lists in
/// files.
struct ChecksumSearch: CommandPlan {
  /// What happens if no list is found beside a file.
  enum Mode: String, CaseIterable, Sendable { case auto, required }

  private let command: any FetchingCommand
  private let get: GetCommand
  private let sources: CommandSources
  private let lists: [(address: String, request: DownloadRequest)]
  /// The files beside which lists are looked for.
  private let files: [GetItem]
  private let requests: ItemRequests

  private static let mostFiles = 1000

  /// Nil if no list is on a server, or all were asked for.
  init?(_ command: some FetchingCommand, _ sources: CommandSources) throws(UsageError) {
    var get = try command.asGet
    let content = get.content
    let addresses = content.checksumFiles.filter {
      ListServer.has($0) && sources.checksumLists[$0] == nil
    }
    let isSearching = content.checksumFrom != nil && sources.neighbours == nil
    guard !addresses.isEmpty || isSearching else { return nil }
    guard content.checksumFrom == nil || content.checksums.isEmpty && content.checksumFiles.isEmpty
    else {
      throw UsageError(
        "--checksum-from looks for digests; leave it out with --checksum and --checksum-file")
    }
    var reader = try ItemReader(get, sources)
    let items = try reader.next(atMost: isSearching ? Self.mostFiles : 1)
    guard !isSearching || reader.isAtEnd else {
      throw UsageError(
        "--checksum-from looks beside at most \(Units.count(Self.mostFiles)) files; name the list "
          + "with --checksum-file")
    }
    guard let first = items.first else { return nil }
    get.content.checksumFiles = []
    (get.content.checksumFrom, get.content.checksums) = (nil, [])
    get.content.ignoreMissing = nil
    var requests = try ItemRequests(get, sources, from: first.url)
    var store = CommandStore(get.s3, sources)
    var lists: [(address: String, request: DownloadRequest)] = []
    for address in addresses {
      var item = try GetItem(address, in: &store)
      // Credentials are for the server of the files.
      item.server = ListServer(origin: first.url.origin, isStore: false)
      lists.append((address, try Self.request(for: item, &requests)))
    }
    (self.command, self.get, self.sources) = (command, get, sources)
    (self.lists, self.requests) = (lists, requests)
    files = isSearching ? items.filter { $0.checksums.isEmpty && $0.object == nil } : []
    mode = isSearching ? content.checksumFrom : nil
  }

  /// Nil if nothing is looked for.
  private let mode: Mode?

  private static func request(
    for item: GetItem, _ requests: inout ItemRequests
  ) throws(UsageError) -> DownloadRequest {
    var request = try requests.request(for: item)
    // What else the command says of its files is not said of the list.
    request.resumesFromOtherURL = false
    request.maximumSize = Int64(ChecksumList.maximumSize)
    return request
  }

  package func run(in context: ProcessContext) async -> ExitStatus {
    if let refusal = context.limits.refusal { return await OutputStream.fail(refusal) }
    var sources = sources
    do {
      let manager = try TransferManager(try get.configuration(context.environment))
      for (address, request) in lists {
        let (list, sender) = try await Self.fetch(request, manager, ListServer.path(of: address))
        let isProtected = [request.url, sender ?? request.url].allSatisfy {
          $0.origin.scheme == "https"
        }
        sources.checksumLists[address] = .init(list: list, isProtected: isProtected)
      }
      if let mode { sources.neighbours = try await search(manager, mode) }
      await manager.shutdown()
      return try await command.plan(sources).run(in: context)
    } catch let error as TransferError {
      let isTemporary = get.worker.worker && error.isTemporary
      return await OutputStream.fail(
        error.commandLineText, with: isTemporary ? .tryAgain : .failed)
    } catch {
      return await OutputStream.fail(error)
    }
  }

  /// A list, and who sent it if redirects have led to another origin.
  private static func fetch(
    _ request: DownloadRequest, _ manager: TransferManager, _ name: String
  ) async throws(TransferError) -> (list: ChecksumList, sender: ResourceURL?) {
    var retries = 0
    while true {
      do throws(any Error) {
        var bytes: [UInt8] = []
        let transfer = try await manager.add(request)
        for try await chunk in try await transfer.bytes { chunk.withUnsafeBytes { bytes += $0 } }
        return (ChecksumList(bytes), try await transfer.result.sender)
      } catch let error as TransferError {
        // What of it was passed on cannot be resumed here.
        guard error.cause == .begunStream, retries < min(request.retry.retries, Self.mostRetries)
        else { throw error.prefixed("the list \(name): ") }
        retries += 1
      } catch {
        throw TransferError(.io, "the list \(name): \(error)")
      }
    }
  }

  private static let mostRetries = 3
}

/// The search for lists that nobody has named. An address is asked once in a run.
extension ChecksumSearch {
  private typealias Found = (address: ResourceURL, checksums: [Checksum])

  /// What is known of one directory: a server may have many long lists.
  private struct Known {
    /// Also those that have no list.
    var asked = Set<ResourceURL>()
    var lists: [(place: ChecksumList.Neighbour, list: ChecksumList)] = []
  }

  /// - Throws: if a file has no digest and must have one.
  private func search(
    _ manager: TransferManager, _ mode: Mode
  ) async throws -> NeighbourChecksums {
    var (result, uses) = (NeighbourChecksums(), [ResourceURL: Int]())
    for directory in Self.directories(of: files) {
      var known = Known()
      for item in directory {
        guard let found = try await find(item, &known, manager, &result.notes) else { continue }
        result.checksums[item.url] = found.checksums
        uses[found.address, default: 0] += 1
      }
    }
    let missing = files.filter { result.checksums[$0.url] == nil }
    result.notes += uses.map { address, count in
      "the digest\(count == 1 ? "" : "s of \(Units.count(count)) files") will be compared with "
        + address.redacted
    }.sorted()
    guard let first = missing.first else { return result }
    let others = missing.count == 1 ? "" : ", nor beside \(Units.count(missing.count - 1)) others"
    let what = "no list of digests was found beside \(first.url.redacted)\(others)"
    guard mode == .auto else {
      throw TransferError(.notFound, what, advice: "--checksum-from auto goes on without")
    }
    result.notes.append("\(what): not checked against one")
    return result
  }

  /// The files of each directory, in the order of their first ones.
  private static func directories(of files: [GetItem]) -> [[GetItem]] {
    var (numbers, directories) = ([[UInt8]: Int](), [[GetItem]]())
    for item in files {
      let file = String(item.url.absoluteString.prefix(beforeAnyOf: "?"))
      let number = numbers[Array(file.pathParts.directory.utf8)] ?? directories.count
      if number == directories.count { directories.append([]) }
      numbers[Array(file.pathParts.directory.utf8)] = number
      directories[number].append(item)
    }
    return directories
  }

  /// The digests of a file; those of a list that was found for another one, before any is asked
  /// for.
  private func find(
    _ item: GetItem, _ known: inout Known, _ manager: TransferManager, _ notes: inout [String]
  ) async throws -> Found? {
    for (place, list) in known.lists where !place.isOfFile {
      if let found = Self.use(of: list, at: place, for: item) { return found }
    }
    for place in ChecksumList.neighbours(of: item.url) {
      let isNew = known.asked.insert(place.address).inserted
      if isNew, let list = try await ask(place.address, for: item, manager, &notes) {
        known.lists.append((place, list))
      }
      guard let list = known.lists.first(where: { $0.place == place })?.list,
        let found = Self.use(of: list, at: place, for: item)
      else { continue }
      if isNew {
        notes += ChecksumLists.notes(
          on: list, named: place.address.redacted,
          isProtected: place.address.origin.scheme == "https")
      }
      return found
    }
    return nil
  }

  /// Whether a status says that a file is not there, and not that it cannot be had now, or without
  /// credentials.
  private static func isWithoutFile(_ status: Int) -> Bool {
    (400..<500).contains(status) && ![401, 407, 408, 425, 429].contains(status)
  }

  private static func use(
    of list: ChecksumList, at place: ChecksumList.Neighbour, for item: GetItem
  ) -> Found? {
    var checksums = list.checksums(ofFileAt: item.decodedPath)
    if place.isOfFile, checksums.isEmpty, list.files.isEmpty { checksums = list.nameless }
    return checksums.isEmpty ? nil : (place.address, checksums)
  }

  /// A list beside a file; nil if there is none, or if another server has it.
  /// - Throws: why it is not known whether there is one, such as 503 or a token that has expired.
  private func ask(
    _ address: ResourceURL, for file: GetItem, _ manager: TransferManager, _ notes: inout [String]
  ) async throws -> ChecksumList? {
    var (store, requests) = (CommandStore(get.s3, sources), requests)
    var item = try GetItem(address.text, in: &store)
    (item.server, item.headers) = (file.server, file.headers)
    var request = try Self.request(for: item, &requests)
    request.hasNoRanges = true
    let (list, sender): (ChecksumList, ResourceURL?)
    do throws(TransferError) {
      (list, sender) = try await Self.fetch(request, manager, address.redacted)
    } catch {
      guard let status = error.status, Self.isWithoutFile(status) else { throw error }
      // Some stores answer 403 for what they do not have.
      if ![404, 410].contains(status) {
        notes.append("\(address.redacted): the server answered \(status), as if there were no list")
      }
      return nil
    }
    guard !list.entries.isEmpty else { return nil }
    // A server may lead to its own TLS; another host has not published the file.
    if let sender, sender.origin != address.origin,
      sender.origin.host != address.origin.host || sender.origin.scheme != "https"
    {
      notes.append("\(address.redacted) leads to \(sender.origin), whose digests are not used")
      return nil
    }
    return list
  }
}

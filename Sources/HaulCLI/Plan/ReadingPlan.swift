import HaulCore
import HaulKit

/// A command that only reads manifests and lists, which may be on servers.
protocol ReadingCommand: Command {
  /// Manifests, or directories and prefixes of them.
  var manifestPlaces: [String] { get }
  /// Lists, or prefixes of them.
  var listPlaces: [String] { get }
  var server: ServerOptions { get }
}

extension ReadingCommand {
  /// What the configuration says is for servers alone.
  var overriddenByServer: Set<String>? {
    guard (manifestPlaces + listPlaces).contains(where: ListServer.has) else { return nil }
    return Settings.overridden(by: server.credentials, server.requests, server.connections)
      .union(["json", "max-per-host", "output", "input-file", "columns", "input-format"])
  }
}

/// Asks servers for the manifests and lists of a command, and then does what it does with files.
package struct ReadingPlan: CommandPlan {
  private let command: any ReadingCommand
  private let input: ServerInput
  private let sources: CommandSources
  private let objects: CommandStore
  /// What is asked for: addresses, or prefixes of them.
  private let manifests: [String]
  private let lists: [String]

  private static let atOnce = 8
  private static let pieceSize = 1 << 20

  /// Nil if nothing is on a server, or all of it was asked for.
  init?(_ command: some ReadingCommand, _ sources: CommandSources) throws(UsageError) {
    func isLeft(_ place: String) -> Bool {
      ListServer.has(place) && sources.below[place] == nil && sources.fetched[place] == nil
        && sources.sent[place] == nil
    }
    (manifests, lists) = (
      command.manifestPlaces.filter(isLeft), command.listPlaces.filter(isLeft)
    )
    guard !manifests.isEmpty || !lists.isEmpty else { return nil }
    if let other = manifests.first(where: { !PutPlan.isS3($0) }) {
      throw UsageError(
        "\(ListServer.path(of: other)): name a file of this machine, or an object of a store")
    }
    (self.command, self.sources) = (command, sources)
    input = try ServerInput(try command.server.asGet, sources)
    var objects = CommandStore(input.get.s3, sources)
    for place in manifests + lists {
      if Self.isPrefix(place) {
        // The keys below it must have addresses.
        _ = try objects.object("\(place)k")
      } else {
        _ = try input.request(for: place, in: &objects)
      }
    }
    self.objects = objects
  }

  private static func isPrefix(_ place: String) -> Bool {
    PutPlan.isS3(place) && place.endsWithSlash
  }

  package func run(in context: ProcessContext) async -> ExitStatus {
    if let refusal = context.limits.refusal { return await OutputStream.fail(refusal) }
    var (sources, objects) = (sources, objects)
    do {
      let manager = try input.manager(context)
      func expanded(
        _ places: [String], _ what: String, ends: [String]
      ) async throws -> [ServerInput.Request] {
        var requests: [ServerInput.Request] = []
        for place in places {
          if Self.isPrefix(place) {
            let below = try await addresses(
              below: place, what, ends, objects.open(), manager, context.clock)
            sources.below[place] = below
            for address in below { requests.append(try input.request(for: address, in: &objects)) }
          } else {
            requests.append(try input.request(for: place, in: &objects))
          }
        }
        return requests
      }
      for request in try await expanded(lists, "list", ends: ManifestCommand.listEnds)
      where sources.fetched[request.address] == nil {
        sources.fetched[request.address] = try await input.list(request, manager, context.clock)
      }
      let requests = try await expanded(manifests, "manifest", ends: ManifestCommand.manifestEnds)
      sources.sent = try await fetched(requests, manager, context.clock)
      await manager.shutdown()
    } catch {
      return await input.fail(error)
    }
    do {
      return try await command.plan(sources).run(in: context)
    } catch {
      return await OutputStream.fail(error.message, with: .usage)
    }
  }

  /// The addresses of the objects below a prefix, with these ends of their names.
  private func addresses(
    below prefix: String, _ what: String, _ ends: [String], _ store: S3Settings,
    _ manager: TransferManager, _ clock: any TransferClock
  ) async throws -> [String] {
    let place = ObjectRows.Place(prefix)
    var (addresses, known) = ([String](), Set<String>())
    try await input.forEachPage(of: place, in: store, manager, clock) { page in
      for key in page.keys {
        guard let key else {
          throw TransferError(
            .protocolViolation, "\(prefix): a key is no UTF-8 text, or not below the prefix")
        }
        guard ends.contains(where: { key.hasByteSuffix($0) }) else { continue }
        guard known.insert(key).inserted else {
          throw TransferError(
            .nameConflict, "\(prefix): two keys are equal but for how letters are composed: \(key)")
        }
        addresses.append("\(PutPlan.s3Prefix)\(place.bucket)/\(key)")
      }
    }
    guard !addresses.isEmpty else {
      throw TransferError(.notFound, "\(prefix): there is no \(what) below it")
    }
    return addresses
  }

  /// Fetches manifests into one file: there may be more than a process can have open.
  private func fetched(
    _ requests: [ServerInput.Request], _ manager: TransferManager, _ clock: any TransferClock
  ) async throws -> [String: SentText] {
    let all = ListFile(nil, sources.environment)
    var (sent, size) = ([String: SentText](), Int64(0))
    for first in stride(from: 0, to: requests.count, by: Self.atOnce) {
      let some = requests[first..<min(first + Self.atOnce, requests.count)]
      let files = try await withThrowingTaskGroup(of: (Int, ListFile).self) { group in
        for (index, request) in zip(some.indices, some) {
          group.addTask { [input] in
            let name = "the manifest \(request.address): "
            let (file, result) = try await input.fetch(request.download, name, manager, clock)
            if let problem = result.problemOfList { throw problem.prefixed(name) }
            return (index, file)
          }
        }
        return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
      }
      for (index, request) in zip(some.indices, some) {
        guard let file = files[index] else { continue }
        let start = size
        while true {
          let piece = try file.read(size - start, Self.pieceSize)
          if piece.isEmpty { break }
          try all.append(piece)
          size += Int64(piece.count)
        }
        sent[request.address] = SentText(file: all, range: start..<size)
      }
    }
    return sent
  }
}

import FoundationEssentials
import HaulControl
import HaulCore
import HaulFiles
import HaulKit
import HaulLibC
import HTTPTypes
import Hummingbird
import ServiceLifecycle

/// The control interface below `/api/v1`: what the queue can do, as JSON.
struct ControlAPI: Sendable {
  /// The most transfers of one page.
  static let maximumPage = 1000
  /// A page over TCP ends with the transfer that reaches this many bytes of JSON: an answer that
  /// its client does not read stays in memory.
  private static let maximumPageBytes = 4 << 20
  /// The most bytes of a body: a batch of that many transfers needs less.
  static let maximumBody = 16 << 20

  /// The most beginnings of ids in one call: each is looked for in the whole list.
  private static let maximumShortened = 100

  let manager: TransferManager
  let version: String
  let access: RemoteAccess
  let accessList: AccessList
  let ownDirectories: OwnDirectories
  /// Whether it is served over the socket, where a transfer may write anywhere.
  let isLocal: Bool
  /// The names of the listener that serves it.
  let hosts: AllowedHosts
  let subscribers: PlaceCount
  let registry: MetricsRegistry
  /// Exists while the queue is suspended: it stays suspended after a crash.
  let suspension: StateFile
  let notices: NoticeBoard
  let sessions: WebSessions
  let redirects: RedirectFiles
  let listener: WebListener
  let history: TransferHistory
  let limits: CurrentLimits
  /// Those that are being answered.
  let probes: PlaceCount
  let settings: SettingsReload
  /// Ends the daemon.
  let stop: @Sendable () -> Void

  /// Nil over the socket.
  var roots: RootDirectories? { isLocal ? nil : RootDirectories(paths: access.roots) }

  func addRoutes(to router: Router<ConnectionContext>) {
    router.get("/metrics") { _, _ in await metrics() }
    let v1 = router.group("/api/v1").add(middleware: AddressCheck())
    v1.get("/status") { _, _ in try APIResponse.json(await status()) }
    v1.post("/shutdown") { request, _ in
      _ = try await request.body(NoKeys.self)
      stop()
      return Response(status: .accepted)
    }
    addReloadRoute(to: v1)
    v1.get("/queue") { _, _ in
      try APIResponse.json(QueueDocument(isSuspended: manager.isSuspended))
    }
    v1.patch("/queue") { request, _ in
      let change = try await request.body(QueueDocument.self)
      try change.isSuspended ? suspension.create() : suspension.remove()
      if change.isSuspended { await manager.suspend() } else { await manager.unsuspend() }
      return try APIResponse.json(QueueDocument(isSuspended: manager.isSuspended))
    }
    v1.get("/transfers") { request, _ in try APIResponse.json(await list(request)) }
    v1.post("/transfers") { request, _ in
      try APIResponse.json(await add(request), status: .created)
    }
    v1.patch("/transfers") { request, _ in
      try APIResponse.json(await perform(try await request.body(ChangesBody.self)))
    }
    v1.get("/transfers/:id") { _, context in
      let id = try await id(in: context)
      guard let document = try await documents(of: [id]).first else { throw Self.unknown("\(id)") }
      return try APIResponse.json(document)
    }
    v1.patch("/transfers/:id") { request, context in
      let change = try await request.body(ChangeBody.self)
      let id = try await id(in: context)
      if let refusal = try await apply(change, to: [id])[id] { throw refusal }
      guard let document = try await documents(of: [id]).first else { throw Self.unknown("\(id)") }
      return try APIResponse.json(document)
    }
    v1.post("/commands") { request, _ in
      try APIResponse.json(await perform(try await request.body(CommandBody.self)))
    }
    v1.post("/wait") { request, _ in
      try APIResponse.json(await wait(for: try await request.body(Selection.self)))
    }
    addNoticeRoutes(to: v1)
    v1.get("/transfers/:id/details") { _, context in
      try APIResponse.json(await details(of: try await id(in: context)))
    }
    v1.get("/files") { request, _ in try APIResponse.json(files(request)) }
    v1.get("/space") { request, _ in try APIResponse.json(space(request)) }
    v1.post("/probe") { request, _ in
      try APIResponse.json(await probe(try await request.body(ProbeBody.self)))
    }
    v1.get("/order") { _, _ in
      try APIResponse.json(OrderDocument(ids: await manager.coordinator.ids(of: .all)))
    }
    v1.get("/limits") { _, _ in try APIResponse.json(await limits.document) }
    v1.patch("/limits") { request, _ in
      try await limits.apply(try await request.body(LimitsDocument.self))
      return try APIResponse.json(await limits.document)
    }
    v1.delete("/limits") { _, _ in
      try await limits.reset()
      return try APIResponse.json(await limits.document)
    }
    addPageRoutes(to: v1)
    v1.get("/openapi.yaml") { _, _ in APIResponse.document }
    v1.get("/schema/events.json") { _, _ in APIResponse.schema }
    v1.get("/events") { request, _ in try events(for: request) }
  }

  private func status() async -> StatusDocument {
    let counts = await manager.counts
    return StatusDocument(
      version: version, pid: getpid(), isSuspended: manager.isSuspended,
      counts: Dictionary(uniqueKeysWithValues: counts.map { ($0.rawValue, $1) }),
      roots: roots?.paths,
      waiting: await manager.coordinator.holdReason.map {
        TransferDocument.Wait($0, at: SystemClock().wallSeconds)
      }, takenPorts: listener.takenPorts, fingerprint: isLocal ? listener.fingerprint : nil,
      hasNewConfiguration: isLocal ? settings.hasNewFile : nil,
      needsRestart: isLocal ? await settings.needsRestart : nil)
  }

  private func add(_ request: Request) async throws -> AddResponse {
    let key = HTTPField.Name("Idempotency-Key").flatMap { request.headers[$0] }
    guard key.map(Self.isKey) ?? true else {
      throw Problem.badRequest("the Idempotency-Key must have 1 to 200 visible characters of ASCII")
    }
    let (body, digest) = try await request.bodyAndDigest(AddBody.self)
    guard !body.transfers.isEmpty else { throw Problem.badRequest("give at least one transfer") }
    try ownDirectories.check(body.transfers)
    let requests = try body.transfers.map { (new) throws(Problem) in
      try roots?.check(new)
      var request = new.request
      // They are looked at again when it opens its files.
      request.roots = roots?.paths
      // A file that its owner cannot read has no record that tells whose it is.
      if roots != nil, let mask = request.download?.creationMask {
        request.download?.creationMask = mask & 0o077 | POSIXDisk().creationMask
      }
      return request
    }
    // A key belongs to its body: with another one, it is another call. A client over TCP that knows
    // both has not made its owner's call.
    let side = isLocal ? "" : " client"
    let added = try await manager.added(
      requests, ifKnown: body.ifKnown ?? .keep, key: key.map { "\($0) \(digest)\(side)" },
      isPaused: body.isPaused ?? false, findsSame: body.findsSame ?? false)
    return AddResponse(
      ids: added.all.map(\.id), same: added.same.isEmpty ? nil : added.same.sorted())
  }

  private static func isKey(_ text: String) -> Bool {
    (1...200).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  private func list(_ request: Request) async throws -> TransferPage {
    let query = try TransferListQuery(request.uri.queryParameters)
    let after = try await query.after.asyncMap { try await id(named: $0) }
    // One more row shows whether there is a next page.
    var ids = try await ids(of: query, after: after)
    let isLast = ids.count <= query.limit
    if !isLast { ids.removeLast() }
    guard !isLocal else {
      return TransferPage(transfers: try await documents(of: ids), next: isLast ? nil : ids.last)
    }
    var (transfers, size) = ([TransferDocument](), 0)
    // An address may have 64 KiB.
    for start in stride(from: 0, to: ids.count, by: 50) {
      for document in try await documents(of: Array(ids[start...].prefix(50))) {
        transfers.append(document)
        size += try StrictJSON.encode(document).count
        guard size >= Self.maximumPageBytes else { continue }
        let isEnd = isLast && document.id == ids.last
        return TransferPage(transfers: transfers, next: isEnd ? nil : document.id)
      }
    }
    return TransferPage(transfers: transfers, next: isLast ? nil : ids.last)
  }

  private func details(of id: TransferID) async throws(TransferError) -> DetailsDocument {
    var details = DetailsDocument(id: id)
    if let view = try await manager.coordinator.views(of: [id]).first {
      (details.added, details.ended) = (view.added, view.ended)
      details.sources = view.request.upload?.source.files
      if isLocal { details.request = DetailsDocument.Request(view) }
      if view.row.state == .completed, view.request.download != nil, let path = view.row.path {
        details.isMissing = FinishedFiles.isMissing(path)
      }
    }
    if let segments = await manager.coordinator.segments(of: id) {
      details.length = segments.length
      details.present = segments.present.map { [$0.lowerBound, $0.upperBound] }
      details.active = segments.active.map { [$0.lowerBound, $0.upperBound] }
    }
    history.complete(&details)
    if !isLocal { details.hideProgramOutput() }
    return details
  }

  func documents(of ids: [TransferID]) async throws(TransferError) -> [TransferDocument] {
    let now = SystemClock().wallSeconds
    return try await manager.coordinator.views(of: ids).map { view in
      var document = TransferDocument(view, at: now)
      if !isLocal { document.hideProgramOutput() }
      return document
    }
  }
}

/// Commands to several transfers.
extension ControlAPI {
  private func perform(_ body: CommandBody) async throws -> CommandResponse {
    let isOfEnds = body.transfers.isOfEnds
    let ids = isOfEnds ? try await ended(body) : try await ids(of: body.transfers)
    if let roots, RootDirectories.checks(body.command) {
      for start in stride(from: 0, to: ids.count, by: Self.maximumPage) {
        let some = Array(ids[start..<min(start + Self.maximumPage, ids.count)])
        for transfer in try await manager.coordinator.views(of: some) {
          try roots.check(body, of: transfer)
        }
      }
    }
    let finished = FinishedFiles(
      body.command == .remove && body.deletesFiles == true ? try await documents(of: ids) : [],
      below: roots)
    let command = try await command(body)
    let report = try await cancelWhenGracefulShutdown {
      // A cancelled program may take seconds to end: the end of the daemon does not wait for that.
      isOfEnds
        ? try await manager.coordinator.removeEnded(ids)
        : try await manager.perform(command, .ids(ids))
    }
    return CommandResponse(
      ids: ids,
      refused: report.refused.sorted { $0.key < $1.key }
        .map { CommandResponse.Refusal(id: $0, reason: $1) },
      left: finished.delete(except: Set(report.refused.keys)))
  }

  private func command(_ body: CommandBody) async throws -> TransferCommand {
    switch body.command {
    case .pause: .pause
    case .resume: .resume
    case .requeue: .requeue
    case .cancel: .cancel(keepingBytes: body.keepsPart ?? false)
    case .retry: .retry
    case .restart: .restart
    case .remove: .remove
    case .start: .start(force: body.force ?? false)
    case .prioritize: .setPriority(try priority(body.priority))
    case .move: .move(to: try await position(body.to))
    }
  }

  private func priority(_ name: String?) throws(Problem) -> TransferRequest.Priority {
    guard let name else { throw Problem.badRequest("'prioritize' needs a 'priority'") }
    return try Problem.checked(try TransferRequest.priority(name))
  }

  private func position(_ position: CommandBody.Position?) async throws -> QueuePosition {
    switch (position?.first, position?.last, position?.before, position?.after) {
    case (true, nil, nil, nil): .first
    case (nil, true, nil, nil): .last
    case (nil, nil, let name?, nil): .before(try await id(named: name))
    case (nil, nil, nil, let name?): .after(try await id(named: name))
    default: throw Problem.badRequest("'to' is one of first, last, before and after")
    }
  }

  func ids(of selection: Selection) async throws -> [TransferID] {
    guard !selection.isOfEnds else {
      throw Problem.badRequest("'ends' and 'ended_before' are for 'remove'")
    }
    switch (selection.ids, selection.group, selection.all) {
    case (let names?, nil, nil):
      var (ids, shortened): ([TransferID], Int) = ([], 0)
      for name in names {
        shortened += await manager.coordinator.isWhole(name) ? 0 : 1
        guard shortened <= Self.maximumShortened else {
          throw Problem(
            422, "Unprocessable Content",
            "give at most \(Self.maximumShortened) shortened ids at once, or whole ones")
        }
        ids.append(try await id(named: name))
      }
      return ids
    case (nil, let group?, nil): return await manager.coordinator.ids(of: .group(group))
    case (nil, nil, true): return await manager.coordinator.ids(of: .all)
    default: throw Problem.badRequest("'transfers' is one of ids, group and all")
    }
  }

  /// The transfer that the path names.
  private func id(in context: ConnectionContext) async throws -> TransferID {
    let name = try context.parameters.require("id")
    return try await id(named: PercentCoding.text(name))
  }

  /// - Throws: `Problem` when no transfer, or several, may be meant.
  private func id(named text: String) async throws(Problem) -> TransferID {
    let ids = await manager.coordinator.ids(named: text)
    guard let id = ids.first else { throw Self.unknown(text) }
    guard ids.count == 1 else {
      throw Problem(
        409, "Conflict", "\(ids.count) ids begin with '\(text)'; give more of its characters")
    }
    if isLocal { try await checkName(text, of: id) }
    return id
  }

  /// A client over TCP may name its transfer like the beginning of an id that its owner shortens.
  /// - Throws: `Problem` when both may be meant.
  private func checkName(_ text: String, of id: TransferID) async throws(Problem) {
    let others = await manager.coordinator.ids(beginningWith: text).filter { $0 != id }
    guard let other = others.first, TransferID(text) != id,
      let view = try? await manager.coordinator.views(of: [id]).first, view.request.roots != nil
    else { return }
    throw Problem(
      409, "Conflict",
      "'\(text)' is the identifier of a transfer that was added over TCP, and begins the id "
        + "\(other); give the whole id")
  }

  private static func unknown(_ text: String) -> Problem {
    .notFound("there is no transfer '\(text)' in the list")
  }
}

extension Optional {
  fileprivate func asyncMap<Value>(_ body: (Wrapped) async throws -> Value) async rethrows -> Value?
  {
    if let self { try await body(self) } else { nil }
  }
}

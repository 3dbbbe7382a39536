import ArgumentParser
import HaulControl
import HaulCore

/// Header fields and credentials in place of those of transfers in the list.
struct AccessOptions: ParsableArguments {
  @Option(
    name: [.customShort("H", allowingJoined: true), .customLong("header")],
    help: ArgumentHelp(
      """
      A header field, in place of those with its name. @FILE reads header fields from a file, one \
      per line.
      """, valueName: "Name: value"))
  var headers: [String] = []

  @OptionGroup var credentials: CredentialOptions

  @Option(
    help: ArgumentHelp(
      "Only the transfers of this server: header fields and credentials are for one.",
      valueName: "HOST"))
  var host: String?
}

/// New header fields and credentials, read once. They go to one server.
struct AccessChange: Sendable {
  private var credentials: OwnCredentials
  private let host: String?
  /// Whether what is given says by itself for which hosts it is.
  private let isOfHosts: Bool

  /// Nil if there are none.
  init?(_ options: AccessOptions, _ sources: CommandSources) throws(UsageError) {
    let given = options.credentials
    let isForOne =
      !options.headers.isEmpty || given.user != nil || given.bearerFile != nil
      || given.bearerEnv != nil || !given.cookies.isEmpty
    guard isForOne || given.netrc == true || !given.cookieFiles.isEmpty else {
      guard given.passwordFile == nil else { throw UsageError("--password-file needs --user") }
      guard options.host == nil else {
        throw UsageError("--host is for header fields and credentials: give -H or --bearer-file")
      }
      return nil
    }
    credentials = try OwnCredentials(given, options.headers, sources)
    (host, isOfHosts) = (options.host?.lowercased(), !isForOne)
  }

  /// Those of the transfers that get it.
  /// - Throws: if they are of several servers: what is for one must not go to another.
  func chosen(_ transfers: [TransferDocument]) throws(UsageError) -> [TransferDocument] {
    let chosen = transfers.filter { transfer in
      guard let origin = transfer.origin else { return false }
      return host == nil || [origin.host, origin.authority].contains(host)
    }
    guard !chosen.isEmpty else {
      throw UsageError(host.map { "no transfer is of \($0)" } ?? "no transfer has an address")
    }
    let origins = Set(chosen.compactMap(\.origin))
    guard origins.count == 1 || isOfHosts else {
      let names = origins.map(\.description).sorted().prefix(5).joined(separator: ", ")
      throw UsageError(
        "they are of several servers (\(names)), and header fields and credentials are for one: "
          + "give --host HOST, or the ids")
    }
    return chosen
  }

  /// Adds the header fields for an address to a change.
  mutating func add(to change: inout ChangeBody, for address: String) throws(UsageError) {
    let url = try AddressArgument.url(address)
    var request = DownloadRequest(url: url, to: .stream)
    try credentials.apply(to: &request)
    guard !request.headers.isEmpty else {
      throw UsageError("\(url.redacted): nothing of it is for this server")
    }
    change.headers = request.headers.map { HeaderChange(name: $0.name, value: $0.value) }
    change.bearerFile = request.bearerFile.map(WorkingDirectory.absolute)
  }

  /// Gives it to transfers of the list; a line says which ones refuse it.
  /// - Returns: whether all have it.
  func apply(
    to transfers: [TransferDocument], _ session: ControlSession
  ) async throws -> Bool {
    try await session.change(try chosen(transfers), ChangeBody(), self) == .completed
  }
}

extension ControlSession {
  /// Makes one change of several transfers, each with the credentials for its address; a line says
  /// which ones refuse it. Equal changes are stored together.
  func change(
    _ transfers: [TransferDocument], _ change: ChangeBody, _ access: AccessChange?
  ) async throws -> ExitStatus {
    var (access, order) = (access, [ChangeBody]())
    var ids: [ChangeBody: [String]] = [:]
    for transfer in transfers {
      var own = change
      try access?.add(to: &own, for: transfer.url ?? "")
      if ids[own] == nil { order.append(own) }
      ids[own, default: []].append(transfer.id.description)
    }
    var status = ExitStatus.completed
    for one in order {
      var rest = ids[one, default: []][...]
      while !rest.isEmpty {
        let some = Array(rest.prefix(AddBody.maximumCount))
        rest = rest.dropFirst(some.count)
        let answer = try await client.change(ChangesBody(one, of: Selection(ids: some)))
        for refusal in answer.refused {
          await OutputStream.warn("\(refusal.id): \(refusal.message)")
          status = .failed
        }
      }
    }
    return status
  }
}

extension ControlSession {
  /// The transfers of a selection, in the order of the list.
  func documents(
    of selection: Selection
  ) async throws(ControlClient.Failure) -> [TransferDocument] {
    var transfers: [TransferDocument] = []
    if let names = selection.ids {
      for name in names { transfers.append(try await client.transfer(name)) }
      return transfers
    }
    var last: TransferID?
    repeat {
      let page = try await client.transfers(after: last, group: selection.group)
      transfers += page.transfers
      last = page.next
    } while last != nil
    return transfers
  }
}

extension TransferDocument {
  var origin: ResourceURL.Origin? { url.flatMap { try? ResourceURL($0) }?.origin }
}

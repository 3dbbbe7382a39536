/// What a request proves its right with, and to whom. It is not printed: it is a secret.
package struct SentCredential: Hashable, Sendable {
  package let origin: ResourceURL.Origin
  private let text: String

  /// Nil if the request has none, or its address has one of its own.
  package init?(to url: ResourceURL, _ fields: HeaderFields) {
    guard let text = fields["Authorization"] ?? url.credentials?.basic ?? Self.proof(in: fields),
      // A signed address expires by itself.
      !url.mayExpire
    else { return nil }
    (origin, self.text) = (url.origin, text)
  }

  private static func proof(in fields: HeaderFields) -> String? {
    let proofs = fields.fields.filter { mayProve($0.name) }
    return proofs.isEmpty
      ? nil : proofs.map { "\($0.name.lowercased()):\($0.value)" }.joined(separator: "\n")
  }

  private static func mayProve(_ name: String) -> Bool {
    let name = name.lowercased()
    return ["cookie", "auth", "token", "key", "secret", "session"].contains { name.hasBytes($0) }
  }
}

extension SentCredential: CustomStringConvertible, CustomReflectable {
  package var description: String { "a credential for \(origin)" }
  package var customMirror: Mirror { Mirror(self, children: ["origin": origin]) }
}

extension FetchRequest {
  /// Whether its own origin gets a credential that it may refuse.
  package var hasCredential: Bool {
    guard !hasLeftOrigin, signing == nil else { return false }
    guard !headers.fields.isEmpty || url.credentials != nil else { return false }
    return SentCredential(to: url, headers) != nil
  }
}

/// Which credentials a server refuses in all of its answers, so that no more requests carry them:
/// hundreds of failures say no more than three, and some servers then lock the account.
///
/// A 401 may also be of one place, so it must be certain that the credential is the reason. If it
/// was accepted before, an address that it opened is asked again. If it never was, the places that
/// have refused it are held, and others are tried, until several of them have refused it. A 403
/// never counts: it says that the server knows who asks (RFC 9110, section 15.5.4).
package struct CredentialRefusals: Sendable {
  /// So many refusals in a row, and so many places.
  package static let limit = 3
  private static let maximumEntries = 1024
  private static let maximumPlaces = 256
  private static let maximumTransfers = 1024

  package enum Answer: Hashable, Sendable {
    case refused
    /// The address may be asked again if it was read.
    case accepted(wasRead: Bool)
    case neither

    /// - Parameter leftOrigin: whether another origin answered, to which the first one redirected.
    package init(status: Int, leftOrigin: Bool, wasRead: Bool) {
      self =
        switch status {
        case ..<400: .accepted(wasRead: wasRead)
        case 401 where !leftOrigin: .refused
        default: .neither
        }
    }
  }

  private struct Entry: Sendable {
    /// Since it was accepted last.
    var refusals = 0
    var places: Set<String> = []
    /// The transfers that it was refused to, and their addresses.
    var transfers: [TransferID: ResourceURL] = [:]
    /// How many refusals make a question of it.
    var patience = limit
    var wasAccepted = false
    /// The last address that it opened.
    var opened: ResourceURL?
    var openedPlaces: Set<String> = []
    var isAsking = false
    /// Whether it is known to be refused everywhere.
    var isRefused = false
  }

  private var entries: [SentCredential: Entry] = [:]

  package init() {}

  /// Whether a request must not be sent.
  package func holds(_ credential: SentCredential, at url: ResourceURL) -> Bool {
    guard let entry = entries[credential] else { return false }
    if entry.isRefused { return true }
    return !entry.wasAccepted && entry.refusals >= Self.limit
      && entry.places.contains(Self.place(of: url))
  }

  /// Whether its server has accepted it before.
  package func hasAccepted(_ credential: SentCredential) -> Bool {
    entries[credential]?.wasAccepted == true
  }

  /// The transfers that got a refusal before it was known that all requests with their credentials
  /// get one, in order.
  package var heldTransfers: [TransferID] {
    entries.flatMap { credential, entry in
      entry.transfers.filter { holds(credential, at: $0.value) }.keys
    }.sorted()
  }

  /// Forgets that these transfers got a refusal.
  package mutating func forget(_ transfers: [TransferID]) {
    for (credential, entry) in entries where !entry.transfers.isEmpty {
      for id in transfers { entries[credential]?.transfers[id] = nil }
    }
  }

  /// Notes an answer to a request, of a transfer if it may be tried again later.
  /// - Returns: the address to ask again with this credential, for `asked`; nil for none.
  package mutating func note(
    _ answer: Answer, to credential: SentCredential, at url: ResourceURL, of id: TransferID? = nil
  ) -> ResourceURL? {
    if answer == .refused, let id {
      change(credential) { entry in
        if entry.transfers.count < Self.maximumTransfers { entry.transfers[id] = url }
      }
    }
    switch answer {
    case .neither: return nil
    case .accepted(let wasRead):
      accept(credential, at: url, wasRead: wasRead)
      return nil
    case .refused: return refuse(credential, at: url)
    }
  }

  /// Notes what came of asking again.
  /// - Parameter isRefused: nil if there was no answer.
  package mutating func asked(_ credential: SentCredential, isRefused: Bool?) {
    change(credential) { entry in
      entry.isAsking = false
      guard let isRefused else { return }
      entry.isRefused = isRefused
      guard !isRefused else { return }
      // The refusals are of places: each question is asked later than the one before.
      (entry.refusals, entry.places, entry.transfers) = (0, [], [:])
      entry.patience = min(entry.patience * 2, 1 << 20)
    }
  }

  /// Everything may be tried again at this host: its user says so.
  package mutating func forgive(_ host: String) {
    for credential in Array(entries.keys) where credential.origin.authority == host {
      change(credential) { ($0.isRefused, $0.refusals, $0.places) = (false, 0, []) }
    }
  }

  private mutating func accept(
    _ credential: SentCredential, at url: ResourceURL, wasRead: Bool
  ) {
    change(credential) { entry in
      (entry.refusals, entry.places, entry.isRefused) = (0, [], false)
      entry.transfers = [:]
      entry.wasAccepted = true
      if wasRead {
        entry.opened = url
      } else if entry.openedPlaces.count < Self.maximumPlaces {
        entry.openedPlaces.insert(Self.place(of: url))
      }
    }
  }

  private mutating func refuse(
    _ credential: SentCredential, at url: ResourceURL
  ) -> ResourceURL? {
    change(credential) { entry in
      entry.refusals += 1
      if entry.places.count < Self.maximumPlaces { entry.places.insert(Self.place(of: url)) }
      guard entry.refusals >= entry.patience, !entry.isRefused, !entry.isAsking else { return nil }
      guard entry.wasAccepted else {
        entry.isRefused = entry.places.count >= Self.limit
        return nil
      }
      guard let opened = entry.opened else {
        // An upload is not sent again to find out: what it opened before must refuse it.
        entry.isRefused = entry.places.isSubset(of: entry.openedPlaces)
        return nil
      }
      entry.isAsking = true
      return opened
    }
  }

  @discardableResult
  private mutating func change<Result>(
    _ credential: SentCredential, _ body: (inout Entry) -> Result
  ) -> Result {
    if entries[credential] == nil, entries.count >= Self.maximumEntries {
      entries = entries.filter { $0.value.isRefused || $0.value.isAsking }
    }
    return body(&entries[credential, default: Entry()])
  }

  /// The path without its last part.
  private static func place(of url: ResourceURL) -> String { url.path.pathParts.directory }
}

extension TransferError {
  /// Why a request was not sent.
  package static func notTried(_ origin: ResourceURL.Origin) -> TransferError {
    TransferError(
      .notTried,
      "not tried, because \(origin.authority) refused the same credentials several times in a row",
      advice: "give others"
    ).remedied(by: .otherCredentials).with(.refusedCredentials)
  }
}

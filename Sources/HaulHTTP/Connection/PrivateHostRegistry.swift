package import HaulCore
import NIOConcurrencyHelpers
import NIOCore

/// Which hosts are in private networks: a redirect of a public host must not reach what only this
/// machine can reach. The address of the connection decides, because a name can point anywhere.
package final class PrivateHostRegistry: Sendable {
  /// Whether each host has had a connection to a public address. One is enough for good: the owner
  /// of a name may let it lead to a private address first.
  private let hosts = NIOLockedValueBox<[String: Bool]>([:])
  /// Names that are remembered. Beyond that, what was learned is forgotten: a name that was never
  /// connected to counts as public.
  private static let most = 65_536

  package init() {}

  /// Whether a redirect of this origin may only lead to public addresses. A name that was never
  /// connected to counts as public: a proxy looks it up.
  package func isPublic(_ origin: ResourceURL.Origin) -> Bool {
    !origin.isPrivateLiteral && hosts.withLockedValue { $0[origin.host.lowercased()] } ?? true
  }

  /// Whether an address must be public because of the server that chose it. A server that names
  /// itself must stay where it is: its name may lead elsewhere at the next lookup. After a restart
  /// it is not known where it was; then it counts as private, as one that always was.
  package func mustBePublic(
    _ origin: ResourceURL.Origin, namedBy namer: ResourceURL.Origin
  ) -> Bool {
    guard namer == origin else { return isPublic(namer) }
    return hosts.withLockedValue { $0[origin.host.lowercased()] } ?? false
  }

  /// Notes the address of a new connection.
  /// - Throws: `redirect-refused` if it must be public and is not.
  func check(
    _ channel: any Channel, to host: String, mustBePublic: Bool
  ) throws(TransferError) {
    let isPublic = Self.isPublic(channel)
    guard isPublic || !mustBePublic else { throw Self.refusal(host) }
    note(host, isPublic: isPublic)
  }

  /// Notes whether a connection to a host had a public address.
  package func note(_ host: String, isPublic: Bool) {
    let name = host.lowercased()
    hosts.withLockedValue { hosts in
      if hosts.count >= Self.most { hosts = [:] }
      hosts[name] = isPublic || hosts[name] ?? false
    }
  }

  /// - Throws: `redirect-refused` for an address that is private without a lookup.
  static func check(_ origin: ResourceURL.Origin) throws(TransferError) {
    if origin.isPrivateLiteral { throw refusal(origin.host) }
  }

  /// An address that is unknown, as of a Unix socket, is not public.
  static func isPublic(_ channel: any Channel) -> Bool {
    channel.remoteAddress?.ipAddress.flatMap { IPAddress($0) }?.isPublic ?? false
  }

  private static func refusal(_ host: String) -> TransferError {
    TransferError(
      .redirectRefused,
      "a public host led to \(host), which has a private address, and was refused",
      advice: "if it is wanted, add that address itself")
  }
}

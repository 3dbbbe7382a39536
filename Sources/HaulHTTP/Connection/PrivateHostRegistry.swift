import HaulCore
import NIOConcurrencyHelpers
import NIOCore

/// Which hosts are in private networks: a redirect of a public host must not reach what only this
/// machine can reach. The address of the connection decides, because a name can point anywhere.
final class PrivateHostRegistry: Sendable {
  /// Hosts whose connections had a private address.
  private let hosts = NIOLockedValueBox<Set<String>>([])

  /// Whether a redirect of this origin may only lead to public addresses. A name that was never
  /// connected to counts as public: a proxy looks it up.
  func isPublic(_ origin: ResourceURL.Origin) -> Bool {
    !origin.isPrivateLiteral
      && !hosts.withLockedValue { $0.contains(origin.host.lowercased()) }
  }

  /// Notes the address of a new connection.
  /// - Throws: `redirect-refused` if it must be public and is not.
  func check(
    _ channel: any Channel, to host: String, mustBePublic: Bool
  ) throws(TransferError) {
    guard !Self.isPublic(channel) else { return }
    guard !mustBePublic else { throw Self.refusal(host) }
    hosts.withLockedValue { _ = $0.insert(host.lowercased()) }
  }

  /// - Throws: `redirect-refused` for an address that is private without a lookup.
  static func check(_ origin: ResourceURL.Origin) throws(TransferError) {
    if origin.isPrivateLiteral { throw refusal(origin.host) }
  }

  /// An address that is unknown, as of a Unix socket, is not public.
  static func isPublic(_ channel: any Channel) -> Bool {
    channel.remoteAddress?.ipAddress.flatMap(IPAddress.init)?.isPublic ?? false
  }

  private static func refusal(_ host: String) -> TransferError {
    TransferError(
      .redirectRefused,
      "a redirect of a public host to \(host), which has a private address, was refused; if it is "
        + "wanted, add that address itself")
  }
}

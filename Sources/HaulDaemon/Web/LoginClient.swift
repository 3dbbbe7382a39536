package import HaulControl
import HaulCore

/// Who sends a password, for the limit of tries and the log.
package struct LoginClient: Hashable, Sendable, CustomStringConvertible {
  /// From where a connection was made.
  package enum Peer: Hashable, Sendable {
    /// From another program of this machine, to a Unix socket; nil for a user that is not known.
    case user(UInt32?)
    /// Over TCP; nil for an address that is not known.
    case address(String?)
  }

  package let client: LoginTries.Client
  package let description: String

  /// The address of the connection, or the last one in `X-Forwarded-For`, which a proxy has added.
  /// That is believed from this machine only; over a socket, from the proxy's user only, as
  /// others could name an address for each try.
  /// - Parameters:
  ///   - forwarded: the field, if the request is for the name of the proxy.
  ///   - proxies: the users of the proxy.
  package init(_ peer: Peer, forwarded: String?, proxies: Set<UInt32>) {
    let isBelieved: Bool
    let own: (LoginTries.Client, String)
    switch peer {
    case .user(let user):
      isBelieved = user.map(proxies.contains) ?? false
      let hint = isBelieved || forwarded == nil ? "" : " (its X-Forwarded-For: see --proxy-user)"
      let name = user.map { "the user \($0) of this machine" } ?? "an unknown user"
      own = (user.map { .user($0) } ?? .address(Self.none), name + hint)
    case .address(let text):
      let address = text.flatMap { IPAddress(host: $0) }
      isBelieved = address?.unmapped.isLoopback ?? false
      own = (.address(address ?? Self.none), text ?? "an unknown address")
    }
    let last = forwarded?.byteSplit(separator: ",").last.map { String($0.trimmingBytes(" \t")) }
    guard isBelieved, let last, let address = IPAddress(last) else {
      (client, description) = own
      return
    }
    (client, description) = (.address(address), last)
  }

  /// All that cannot be told apart have one limit.
  private static let none = IPAddress(bytes: [UInt8](repeating: 0, count: 16))
}

package import HaulControl
import HaulCore
package import Hummingbird
import NIOConcurrencyHelpers
package import NIOCore

/// Where a browser or a program sees this interface.
package struct PageOrigin: Hashable, Sendable {
  /// As in `Host`.
  package let authority: String
  /// It begins and ends with a slash.
  var path = "/"
  /// Whether it is https for the browser, by this daemon or by a proxy.
  package var isSecure: Bool
  /// Whether a proxy offers it there.
  var isProxied = false
  /// Whether a page there may have a session. One at `localhost` may not: that is two addresses,
  /// and another program may have one of them.
  package let mayHaveSession: Bool

  /// As browsers write it.
  var origin: String { "\(isSecure ? "https" : "http")://\(authority)" }

  /// Whether the page asks for the password there: a browser sends the cookie to each port of the
  /// host, so not on this machine, where each user may have a port, and never without TLS.
  package var mayLogIn: Bool {
    isSecure && mayHaveSession && !(IPAddress(host: name)?.unmapped.isLoopback ?? false)
  }

  private var name: String { HostName(authority)?.host ?? "" }
}

/// The names of an interface that `Host` may have: any other one may be of a site that points here
/// (DNS rebinding).
package final class AllowedHosts: Sendable {
  private struct State {
    var names: [String: PageOrigin] = [:]
    /// The port, if any address of this machine is a name.
    var anyPort: Int?
  }

  private let isSecure: Bool
  private let state: NIOLockedValueBox<State>

  /// - Parameter names: that are known before it listens.
  package init(_ names: [String] = [], isSecure: Bool = false) {
    self.isSecure = isSecure
    let origins = names.map {
      ($0, PageOrigin(authority: $0, isSecure: isSecure, mayHaveSession: false))
    }
    state = NIOLockedValueBox(State(names: Dictionary(uniqueKeysWithValues: origins)))
  }

  /// The interface listens now.
  /// - Parameter port: the one that it has; nil for a Unix socket.
  package func open(_ address: ListenAddress, port: Int?, _ access: RemoteAccess) {
    var names: [String: PageOrigin] = [:]
    func add(_ host: HostName, isOwn: Bool) {
      let origin = { (authority: String) in
        PageOrigin(authority: authority, isSecure: self.isSecure, mayHaveSession: isOwn)
      }
      guard let number = host.port ?? port else { return }
      let full = HostName(host: host.host, port: number).description
      names[full] = origin(full)
      guard number == (isSecure ? 443 : 80) else { return }
      let short = HostName(host: host.host, port: nil).description
      names[short] = origin(short)
    }
    if case .tcp(let host, _) = address {
      if address.isLocal || address.isAny {
        // What is not of this listener, another program may have.
        let own = address.isAny ? ["127.0.0.1"] + (host.hasBytes(":") ? ["::1"] : []) : []
        for name in ["127.0.0.1", "localhost", "::1"] {
          add(HostName(host: name, port: port), isOwn: own.contains(name))
        }
      }
      if !address.isAny { add(HostName(host: host, port: port), isOwn: true) }
    }
    // Without TLS, a name may lead anywhere.
    for host in access.hosts { add(host, isOwn: isSecure) }
    if let url = access.publicURL {
      names[url.host.description] = PageOrigin(
        authority: url.host.description, path: url.path, isSecure: true, isProxied: true,
        mayHaveSession: true)
    }
    let (found, any) = (names, address.isAny ? port : nil)
    state.withLockedValue { $0 = State(names: found, anyPort: any) }
  }

  /// The origin that `Host` names; nil if it is none of this interface.
  /// - Parameter local: the address to which the connection was made.
  package func origin(of host: String, at local: SocketAddress?) -> PageOrigin? {
    let (names, port) = state.withLockedValue { ($0.names, $0.anyPort) }
    if let origin = names[host.lowercased()] { return origin }
    // No name of a site is an address.
    guard let port, let name = HostName(host), name.port ?? (isSecure ? 443 : 80) == port,
      let address = IPAddress(host: name.host),
      address.unmapped == local?.ipAddress.flatMap({ IPAddress(host: $0) })?.unmapped
    else { return nil }
    return PageOrigin(authority: host, isSecure: isSecure, mayHaveSession: true)
  }

  var description: String {
    state.withLockedValue { $0.names.keys.sorted() }.joined(separator: " or ")
  }
}

/// What a request has of its connection.
package struct ConnectionContext: RequestContext {
  package var coreContext: CoreRequestContextStorage
  /// The address to which it was made.
  let local: SocketAddress?
  let remote: SocketAddress?
  private let channel: any Channel

  package init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    (local, remote) = (source.channel.localAddress, source.channel.remoteAddress)
    channel = source.channel
  }

  /// Who connected to a Unix socket; nil for any other connection, or one that was closed.
  var user: UInt32? {
    get async { try? await PeerUser.of(channel).get() }
  }
}

/// How `Destination` names the target of a MOVE (RFC 4918, section 10.3). Servers behind a proxy
/// that ends TLS do not know the address that their users have.
enum DAVDestination: Sendable, Hashable {
  /// The same on both sides of a proxy. Apache refuses it (400).
  case path
  /// The address as the user has it.
  case address
  /// As a server sees it that is asked with http (Apache answers 502 to any other).
  case plainAddress

  func text(of target: ResourceURL) -> String {
    switch self {
    case .path: target.pathAndQuery
    case .address: target.absoluteString
    case .plainAddress: "http://\(target.origin.authority)\(target.pathAndQuery)"
    }
  }

  /// What to try after a refusal; nil for nothing else.
  func next(for target: ResourceURL) -> DAVDestination? {
    switch self {
    case .path: .address
    case .address: target.origin.scheme == "https" ? .plainAddress : nil
    case .plainAddress: nil
    }
  }
}

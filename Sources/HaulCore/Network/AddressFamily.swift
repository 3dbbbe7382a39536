/// A family of internet addresses.
public enum AddressFamily: Hashable, Sendable {
  /// `192.0.2.1`.
  case ipv4
  /// `2001:db8::1`.
  case ipv6

  /// The unspecified address of the family.
  package var anyAddress: String {
    switch self {
    case .ipv4: "0.0.0.0"
    case .ipv6: "::"
    }
  }
}

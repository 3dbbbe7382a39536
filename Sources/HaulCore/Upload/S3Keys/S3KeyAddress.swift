/// The addresses of the services that give keys, as the environment names them.
package enum S3KeyAddress {
  private static let relative = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"
  private static let full = "AWS_CONTAINER_CREDENTIALS_FULL_URI"
  package static let token = "AWS_CONTAINER_AUTHORIZATION_TOKEN"
  package static let tokenFile = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"

  /// The variables of a container's service; the address may be as good as a key.
  package static let ofContainer = [relative, full, token, tokenFile]

  /// The service of a container; nil if the environment names none.
  /// - Throws: `bad-url`; also for a host of the network without TLS, which anybody on the way
  ///   could be, and would then get the token and choose the key.
  package static func container(
    _ environment: [String: String]
  ) throws(TransferError) -> ResourceURL? {
    if let path = environment[relative], !path.isEmpty {
      guard path.hasBytePrefix("/"), let url = try? ResourceURL("http://169.254.170.2\(path)")
      else { throw TransferError(.badURL, "\(relative) is not a path") }
      return url
    }
    guard let text = environment[full], !text.isEmpty else { return nil }
    guard let url = try? ResourceURL(text) else {
      throw TransferError(.badURL, "\(full) is not an address")
    }
    try check(url, of: full)
    return url
  }

  /// A host of the network without TLS could be anybody on the way.
  /// - Parameter name: where the address is from.
  /// - Throws: `bad-url`.
  package static func check(_ url: ResourceURL, of name: String) throws(TransferError) {
    guard url.origin.scheme == "https" || isOfMachine(url.origin.host) else {
      throw TransferError(
        .badURL, "\(name): without TLS, keys are only asked for at this machine's own addresses")
    }
  }

  private static let services = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"]
    .compactMap { IPAddress($0) }

  private static func isOfMachine(_ host: String) -> Bool {
    guard let address = IPAddress(host) else { return IPAddress.isLoopbackName(host) }
    return address.isLoopback || services.contains(address)
  }

  /// The metadata service of the machine; nil if it is not to be asked.
  /// - Throws: `bad-url`.
  package static func instance(
    _ environment: [String: String]
  ) throws(TransferError) -> ResourceURL? {
    guard environment["AWS_EC2_METADATA_DISABLED"]?.lowercased() != "true" else { return nil }
    let variable = "AWS_EC2_METADATA_SERVICE_ENDPOINT"
    if let text = environment[variable], !text.isEmpty {
      guard let url = try? ResourceURL(text), url.query == nil else {
        throw TransferError(.badURL, "\(variable) is not an address")
      }
      return url
    }
    let isIPv6 = environment["\(variable)_MODE"]?.lowercased() == "ipv6"
    return try ResourceURL(isIPv6 ? "http://[fd00:ec2::254]/" : "http://169.254.169.254/")
  }
}

import HaulCore

/// The parts of a request that may be secret: stored in a separate table and nowhere else.
struct RequestSecrets: Hashable {
  /// The whole address, if the redacted one hides its query.
  var address: String?
  var credentials: ResourceURL.Credentials?
  /// All header fields: any of them may be secret.
  var fields: [[String]]?

  init(address: String?, credentials: ResourceURL.Credentials?, fields: [[String]]?) {
    self.address = address
    self.credentials = credentials
    self.fields = fields
  }

  /// - Parameter shown: the redacted address, which is stored elsewhere.
  init(_ request: TransferRequest, shown: String?) {
    guard let url = request.url else { return }
    let whole = url.absoluteString
    address = shown == whole ? nil : whole
    credentials = url.credentials
    let fields = request.fields.fields
    self.fields = fields.isEmpty ? nil : fields.map { [$0.name, $0.value] }
  }

  var isEmpty: Bool { address == nil && credentials == nil && fields == nil }

  /// - Throws: `io` when the address is not valid.
  func address(shown: String?) throws(TransferError) -> ResourceURL {
    guard let text = address ?? shown else { throw .unreadable("a transfer without an address") }
    do throws(TransferError) {
      return try ResourceURL(text).taking(credentials)
    } catch {
      throw .unreadable("an address")
    }
  }

  /// - Throws: `io` when a field is not a name and a value.
  func headerFields() throws(TransferError) -> HeaderFields {
    guard let fields else { return HeaderFields() }
    guard fields.allSatisfy({ $0.count == 2 }) else { throw .unreadable("a header field") }
    return HeaderFields(fields.map { ($0[0], $0[1]) })
  }
}

import HaulCore

/// The parts of a request that may be secret: stored in a separate table and nowhere else.
struct RequestSecrets: Hashable {
  /// The whole address, if the redacted one hides its query.
  var address: String?
  var credentials: ResourceURL.Credentials?
  /// All header fields: any of them may be secret.
  var fields: [[String]]?
  /// The texts of a form, in order: any of them may be secret.
  var texts: [String]?

  init(
    address: String?, credentials: ResourceURL.Credentials?, fields: [[String]]?, texts: [String]?
  ) {
    self.address = address
    self.credentials = credentials
    self.fields = fields
    self.texts = texts
  }

  /// - Parameter shown: the redacted address, which is stored elsewhere.
  init(_ request: TransferRequest, shown: String?) {
    guard let url = request.url else { return }
    let whole = url.absoluteString
    address = shown == whole ? nil : whole
    credentials = url.credentials
    let fields = request.fields.fields
    self.fields = fields.isEmpty ? nil : fields.map { [$0.name, $0.value] }
    let texts = request.upload?.form.compactMap(\.text) ?? []
    self.texts = texts.isEmpty ? nil : texts
  }

  var isEmpty: Bool { address == nil && credentials == nil && fields == nil && texts == nil }

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

  /// The parts of a form with their texts, which `StoredUpload` leaves out.
  /// - Throws: `io` when there are more texts, or fewer.
  func form(_ parts: [FormPart]) throws(TransferError) -> [FormPart] {
    var texts = (texts ?? [])[...]
    var parts = parts
    for index in parts.indices where parts[index].text != nil {
      guard let text = texts.popFirst() else { throw .unreadable("the text of a form") }
      parts[index].content = .text(text)
    }
    guard texts.isEmpty else { throw .unreadable("the text of a form") }
    return parts
  }
}

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
  /// The remote source of an upload: any of its address and its fields may be secret.
  var source: Source?

  struct Source: Hashable, Codable {
    /// It has the user information.
    var address: ResourceURL
    var fields: [[String]]?
  }
}

extension RequestSecrets {
  /// - Parameter shown: the redacted address, which is stored elsewhere.
  init(_ request: TransferRequest, shown: String?) {
    guard let url = request.url else { return }
    let whole = url.absoluteString
    address = shown == whole ? nil : whole
    credentials = url.credentials
    fields = request.headers.stored
    let texts = request.upload?.form.compactMap(\.text) ?? []
    self.texts = texts.isEmpty ? nil : texts
    source = request.upload?.download.map { Source(address: $0.url, fields: $0.headers.stored) }
  }

  var isEmpty: Bool {
    address == nil && credentials == nil && fields == nil && texts == nil && source == nil
  }

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
  func headerFields() throws(TransferError) -> HeaderFields { try HeaderFields(stored: fields) }

  /// A remote source with its address and its fields, which `StoredRequest` leaves out.
  /// - Throws: `io` when there is no address.
  func source(_ download: DownloadRequest) throws(TransferError) -> DownloadRequest {
    guard let source else { throw .unreadable("an upload without the address of its source") }
    var download = download
    download.url = source.address
    download.headers = try HeaderFields(stored: source.fields)
    return download
  }

  /// The parts of a form with their texts, which `StoredRequest` leaves out.
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

extension HeaderFields {
  /// Each name and value; nil when there are none.
  fileprivate var stored: [[String]]? {
    fields.isEmpty ? nil : fields.map { [$0.name, $0.value] }
  }

  /// - Throws: `io` when a field is not a name and a value.
  fileprivate init(stored fields: [[String]]?) throws(TransferError) {
    let fields = fields ?? []
    guard fields.allSatisfy({ $0.count == 2 }) else { throw .unreadable("a header field") }
    self.init(fields.map { ($0[0], $0[1]) })
  }
}

/// Decodes a value that is stored as one text. Fails with `DecodingError.dataCorrupted` if the text
/// is unreadable.
private func decode<Value>(
  _ type: Value.Type, from decoder: any Decoder, _ read: (String) throws -> Value?
) throws -> Value {
  let container = try decoder.singleValueContainer()
  let text = try container.decode(String.self)
  guard let value = try? read(text) else {
    // Without the text, which may hold a secret.
    throw DecodingError.dataCorruptedError(in: container, debugDescription: "no \(type)")
  }
  return value
}

extension Encoder {
  fileprivate func encode(_ text: String) throws {
    var container = singleValueContainer()
    try container.encode(text)
  }
}

extension TransferID: Codable {
  /// Reads the text of `description`.
  public init(from decoder: any Decoder) throws {
    self = try decode(Self.self, from: decoder) { TransferID($0) }
  }

  /// Writes `description`.
  public func encode(to encoder: any Encoder) throws { try encoder.encode(description) }
}

extension Checksum: Codable {
  /// Reads `ALG=HEX`.
  public init(from decoder: any Decoder) throws {
    self = try decode(Self.self, from: decoder) { Checksum($0) }
  }

  /// Writes `ALG=HEX`.
  public func encode(to encoder: any Encoder) throws { try encoder.encode(description) }
}

extension ResourceURL: Codable {
  /// Reads a whole address.
  public init(from decoder: any Decoder) throws {
    self = try decode(Self.self, from: decoder) { try ResourceURL($0) }
  }

  /// Writes the whole address, with its secrets: what is encoded must be kept like a password.
  public func encode(to encoder: any Encoder) throws { try encoder.encode(text) }
}

extension TransferResult: Codable {
  /// Reads a result.
  public init(from decoder: any Decoder) throws { self.init(try Parts(from: decoder)) }

  /// Writes all its fields.
  public func encode(to encoder: any Encoder) throws { try parts.encode(to: encoder) }
}

extension TransferError: Codable {
  /// Reads an error.
  public init(from decoder: any Decoder) throws { self.init(try Parts(from: decoder)) }

  /// Writes all its fields.
  public func encode(to encoder: any Encoder) throws { try parts.encode(to: encoder) }
}

/// Programs store it, and so does the list, for uploads to abort: its keys stay.
extension UploadRequest: Codable {
  /// All keys but those of the address and the source: a row for each option.
  private static let options = RequestFields<UploadRequest>([
    .init(\.method, "method", missing: .put), .init(\.precondition, "precondition", missing: .none),
    .init(\.codedIfExists, "ifExists", missing: nil),
    .init(\.headers, "fields", missing: HeaderFields()), .init(\.region, "region", missing: nil),
    .init(\.rateLimit, "rateLimit", missing: nil), .init(\.roots, "roots", missing: nil),
    .init(\.allowInsecure, "allowInsecure", missing: false),
    .init(\.listed, "listed", missing: nil),
    .init(\.listedIn, "listedIn", missing: nil), .init(\.keySource, "keySource", missing: nil),
    .init(\.bearerFile, "bearerFile", missing: nil),
    .init(\.retry, "retry", missing: RetryPolicy()),
  ]).json

  /// Nil for the default, so that such a request is written as by earlier versions.
  private var codedIfExists: IfExists? {
    get { ifExists == .overwrite ? nil : ifExists }
    set { ifExists = newValue ?? .overwrite }
  }

  /// Reads a request.
  public init(from decoder: any Decoder) throws {
    let object = try decoder.container(keyedBy: AnyKey.self)
    self.init(to: try object.decode(ResourceURL.self, forKey: "url"))
    let remote = try object.decodeIfPresent(DownloadRequest.self, forKey: "download")
    source = try Source(in: object, form: "parts", remote: remote)
    try Self.options.changes(in: object).apply(to: &self)
  }

  /// Writes the whole request, with its secrets: what is encoded must be kept like a password.
  public func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: AnyKey.self)
    try object.encode(url, forKey: "url")
    try source.write(to: &object, form: "parts")
    try object.encodeIfPresent(download, forKey: "download")
    try Self.options.write(self, to: &object)
  }
}

/// As requests are stored: `source` is the first file, and the number 0 stands for none.
extension UploadRequest.Source {
  package init(
    in object: KeyedDecodingContainer<AnyKey>, form: AnyKey, remote: DownloadRequest?
  ) throws {
    if let remote {
      self = .remote(remote)
    } else if let number = try object.decodeIfPresent(UInt64.self, forKey: "stream") {
      self = .stream(number == 0 ? nil : number)
    } else if let parts = try object.decodeIfPresent([FormPart].self, forKey: form) {
      self = .form(parts)
    } else {
      self = .file(try object.decode(String.self, forKey: "source"))
    }
  }

  /// Writes all but a remote resource.
  package func write(to object: inout KeyedEncodingContainer<AnyKey>, form: AnyKey) throws {
    try object.encode(files.first ?? "", forKey: "source")
    switch self {
    case .form(let parts): try object.encode(parts, forKey: form)
    case .stream(let number): try object.encode(number ?? 0, forKey: "stream")
    case .file, .remote: break
    }
  }
}

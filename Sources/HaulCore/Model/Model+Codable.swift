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

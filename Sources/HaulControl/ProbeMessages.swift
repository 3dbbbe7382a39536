package import HaulCore

/// The body of `POST /api/v1/probe`: what a server says about an address, before it is added.
package struct ProbeBody: Decodable, Sendable {
  /// The most header fields.
  private static let maximumFields = 100

  package let url: ResourceURL
  package let fields: HeaderFields
  /// Whether the server chooses the name.
  package let usesSuggestedName: Bool

  /// - Throws: as `NewTransfer`.
  package init(from decoder: any Decoder) throws {
    let object = try decoder.strictContainer(of: ["url", "headers", "uses_server_name"])
    url = try ResourceURL(ofBody: try object.value("url"))
    let headers =
      try !object.contains("headers") || object.decodeNil(forKey: "headers")
      ? []
      : object.decodeArray(
        of: TransferBody.Header.self, forKey: "headers", atMost: Self.maximumFields)
    fields = try Problem.checked(try HeaderFields(ofBody: headers))
    usesSuggestedName = try object.optional("uses_server_name") ?? false
  }
}

/// The answer. Texts are as the server sent them.
package struct ProbeDocument: Codable, Hashable, Sendable {
  /// The address after redirects, without secrets.
  package var url: String
  /// The name that the file would get.
  package var name: String
  /// In bytes; nil if the server does not say.
  package var size: Int64?
  /// Whether the server serves ranges.
  package var ranges: Bool
  /// Whether an interrupted download would continue.
  package var resumes: Bool
  /// `Content-Type`.
  package var type: String?

  package init(
    url: String, name: String, size: Int64?, ranges: Bool, resumes: Bool, type: String?
  ) {
    (self.url, self.name, self.size) = (url, name, size)
    (self.ranges, self.resumes, self.type) = (ranges, resumes, type)
  }
}

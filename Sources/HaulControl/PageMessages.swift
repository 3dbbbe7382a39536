/// The answer to `POST /api/v1/ui`.
package struct WebPageAddress: Codable, Hashable, Sendable {
  /// With a code that begins one session.
  package var url: String

  package init(url: String) { self.url = url }
}

/// The body of `POST /api/v1/session`.
package struct SessionBody: Codable, Hashable, Sendable {
  package var code: String

  enum CodingKeys: String, CodingKey { case code }

  package init(from decoder: any Decoder) throws {
    code = try decoder.strictContainer(keyedBy: CodingKeys.self).decode(String.self, forKey: .code)
  }
}

/// The answer: what the page sends with each request.
package struct SessionToken: Codable, Hashable, Sendable {
  package var token: String

  package init(token: String) { self.token = token }
}

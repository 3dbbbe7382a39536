/// The body of `POST /api/v1/ui`.
package struct PageBody: Codable, Hashable, Sendable {
  /// Whether a file is made that leads a browser to the address.
  package var file: Bool

  package init(file: Bool) { self.file = file }

  enum CodingKeys: String, CodingKey { case file }

  package init(from decoder: any Decoder) throws {
    let values = try decoder.strictContainer(keyedBy: CodingKeys.self)
    file = try values.decodeIfPresent(Bool.self, forKey: .file) ?? false
  }
}

/// The answer.
package struct WebPageAddress: Codable, Hashable, Sendable {
  /// It has a code that begins one session.
  package var url: String
  /// The file that leads to it, if that was asked for.
  package var file: String?

  package init(url: String, file: String? = nil) { (self.url, self.file) = (url, file) }
}

/// The body of `POST /api/v1/session`.
package struct SessionBody: Codable, Hashable, Sendable {
  package var code: String

  enum CodingKeys: String, CodingKey { case code }

  package init(from decoder: any Decoder) throws {
    code = try decoder.strictContainer(keyedBy: CodingKeys.self).decode(String.self, forKey: .code)
  }
}

/// The answer: the key with which page and daemon prove themselves.
package struct SessionKey: Codable, Hashable, Sendable {
  /// The id, which is no secret.
  package var session: String
  /// 64 hexadecimal digits.
  package var key: String
  /// True if it began with the password: its page lists and ends sessions.
  package var login: Bool?
}

/// The body of `POST /api/v1/session/proof`.
package struct ChallengeBody: Codable, Hashable, Sendable {
  package var session: String
  /// 64 random hexadecimal digits.
  package var challenge: String

  enum CodingKeys: String, CodingKey { case session, challenge }

  package init(from decoder: any Decoder) throws {
    let object = try decoder.strictContainer(keyedBy: CodingKeys.self)
    session = try object.decode(String.self, forKey: .session)
    challenge = try object.decode(String.self, forKey: .challenge)
  }

  package var isValid: Bool {
    Self.isHex(session, SessionKeys.idLength) && Self.isHex(challenge, 64)
  }

  private static func isHex(_ text: String, _ length: Int) -> Bool {
    text.utf8.count == length
      && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }
}

/// The answer: a proof that the daemon has the key.
package struct SessionProof: Codable, Hashable, Sendable {
  /// It names this start of the daemon; the page's token follows from it.
  package var start: String
  package var proof: String
}

/// A session of the page, as `haul ui --sessions` lists it.
package struct SessionDocument: Codable, Hashable, Sendable {
  package var id: String
  /// In seconds since 1970.
  package var begun: Double
  package var used: Double
  /// The `User-Agent` of the browser, without control characters.
  package var browser: String
}

/// The answer to `GET /api/v1/sessions`.
package struct SessionList: Codable, Hashable, Sendable {
  /// The one that was used last first.
  package var sessions: [SessionDocument]

  package init(sessions: [SessionDocument]) { self.sessions = sessions }
}

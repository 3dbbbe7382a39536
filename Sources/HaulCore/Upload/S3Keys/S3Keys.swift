import FoundationEssentials

/// An access key with its end: the answer of a source. Errors name no value of it.
package struct S3Keys: Sendable, Hashable {
  package let credentials: S3Credentials
  /// In seconds since 1970; nil if it does not expire.
  package let expiry: Double?

  package init(_ credentials: S3Credentials, expiry: Double?) {
    (self.credentials, self.expiry) = (credentials, expiry)
  }

  /// The answer of a container's service or of a metadata service.
  package init(json: [UInt8]) throws(TransferError) {
    let answer = try Document(json)
    if let code = answer.code, code != "Success" { throw Self.refusal(code) }
    guard answer.token != nil else { throw Self.incomplete }
    try self.init(answer)
  }

  /// The output of a `credential_process`.
  package init(output: [UInt8]) throws(TransferError) {
    let answer = try Document(output)
    guard answer.version == 1 else {
      throw TransferError(.unauthorized, "its output has not the version 1")
    }
    try self.init(answer)
  }

  /// The answer of the token service, which is XML.
  package init(xml: [UInt8]) throws(TransferError) {
    guard let root = XMLElement(document: xml) else { throw Self.unreadable }
    guard let result = root.children.first(where: { $0.name.hasByteSuffix("Result") }),
      let found = result.children.first(where: { $0.name == "Credentials" })
    else { throw Self.incomplete }
    try self.init(
      found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"], found["Expiration"])
  }

  /// Why the token service refuses, in a word; nil if it does not say.
  package static func refusal(xml: [UInt8]) -> String? {
    let error = XMLElement(document: xml)?.children.first { $0.name == "Error" }
    return error?["Code"].flatMap { isWord($0) ? $0 : nil }
  }

  private init(_ answer: Document) throws(TransferError) {
    try self.init(answer.id, answer.secret, answer.token ?? answer.sessionToken, answer.expiration)
  }

  private init(
    _ id: String?, _ secret: String?, _ token: String?, _ expiration: String?
  ) throws(TransferError) {
    guard let id, let secret else { throw Self.incomplete }
    credentials = S3Credentials(accessKeyID: id, secretAccessKey: secret, sessionToken: token)
    guard credentials.canBeSent else {
      throw TransferError(.unauthorized, "its key is empty, or has a space or a special byte")
    }
    expiry = try expiration.map { (text) throws(TransferError) in
      guard let time = Self.seconds(of: text) else {
        throw TransferError(.unauthorized, "the end of its key cannot be read")
      }
      return time
    }
  }

  private struct Document: Decodable {
    let id, secret, token, sessionToken, expiration, code: String?
    let version: Int?

    enum CodingKeys: String, CodingKey {
      case id = "AccessKeyId"
      case secret = "SecretAccessKey"
      case token = "Token"
      case sessionToken = "SessionToken"
      case expiration = "Expiration"
      case code = "Code"
      case version = "Version"
    }

    init(_ bytes: [UInt8]) throws(TransferError) {
      do {
        self = try JSONDecoder().decode(Document.self, from: Data(bytes))
      } catch {
        // Without the error, which may quote a value.
        throw S3Keys.unreadable
      }
    }
  }

  private static let unreadable = TransferError(.unauthorized, "its answer cannot be read")
  private static let incomplete = TransferError(.unauthorized, "its answer has no key")

  private static func refusal(_ code: String) -> TransferError {
    TransferError(.unauthorized, "it refuses\(isWord(code) ? " (\(code))" : "")")
  }

  /// Whether a code may be shown. What was sent, or a key, is no word.
  private static func isWord(_ text: String) -> Bool {
    (1...40).contains(text.utf8.count)
      && text.utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) }
  }

  /// A time of ISO 8601, such as `2026-11-29T20:00:00Z`, in seconds since 1970.
  static func seconds(of text: String) -> Double? {
    let bytes = Array(text.utf8)
    func number(_ range: Range<Int>) -> Int64? {
      guard range.upperBound <= bytes.count, bytes[range].allSatisfy({ (0x30...0x39).contains($0) })
      else { return nil }
      return bytes[range].reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
      let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
      [bytes[4], bytes[7], bytes[13], bytes[16]].elementsEqual("--::".utf8),
      bytes[10] == UInt8(ascii: "T") || bytes[10] == UInt8(ascii: " ")
    else { return nil }
    let date = CivilDate(
      year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    // A fraction of a second does not count.
    let zone = bytes[19...].drop { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
    guard date.isValid, let offset = offset(Array(zone)) else { return nil }
    return Double(date.secondsSince1970 - offset)
  }

  /// `Z`, `+02:00` or `+0200`, in seconds.
  private static func offset(_ zone: [UInt8]) -> Int64? {
    if zone.elementsEqual("Z".utf8) { return 0 }
    let digits = zone.dropFirst().filter { $0 != UInt8(ascii: ":") }.map { Int64($0) - 0x30 }
    guard let sign = zone.first, "+-".utf8.contains(sign), digits.count == 4,
      digits.allSatisfy({ (0...9).contains($0) })
    else { return nil }
    let minutes = (digits[0] * 10 + digits[1]) * 60 + digits[2] * 10 + digits[3]
    return (sign == UInt8(ascii: "-") ? -60 : 60) * minutes
  }
}

extension S3Credentials {
  /// Whether its parts can be parts of header fields.
  package var canBeSent: Bool {
    [accessKeyID, secretAccessKey, sessionToken ?? "-"].allSatisfy { value in
      !value.isEmpty && value.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
  }
}

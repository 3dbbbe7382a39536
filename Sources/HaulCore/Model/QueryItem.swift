/// One `name=value` of a query, classified by its name.
struct QueryItem {
  /// As sent.
  let text: Substring
  /// Decoded, in lower case.
  private let name: String
  private let value: Substring?

  init(_ text: Substring) {
    self.text = text
    let parts = text.byteSplit(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    name = String(decoding: PercentCoding.decoded(parts[0]), as: UTF8.self).lowercased()
    value = parts.count == 2 ? parts[1] : nil
  }

  /// The items of a query, in order.
  static func all(of query: String) -> [QueryItem] {
    query.byteSplit(separator: "&", omittingEmptySubsequences: false).map { QueryItem($0) }
  }

  /// The form that may be shown. An item without a name may itself be a secret, unless it is short
  /// like a flag.
  var redacted: String {
    guard let value else { return withoutValue }
    return isSecret || value.utf8.count > Self.maximumShown || Self.isRandom(value)
      ? hidden : String(text)
  }

  /// The value, if it may not be shown.
  var secret: String? { value.flatMap { redacted.isByteEqual(text) ? nil : String($0) } }

  /// The form without any value.
  fileprivate var withoutValue: String {
    value == nil && text.utf8.count <= Self.maximumFlag ? String(text) : hidden
  }

  private var hidden: String { value == nil ? "***" : "\(text.prefix(beforeAnyOf: "="))=***" }

  /// The longest value, and the longest item without one, that are shown, in bytes.
  private static let maximumShown = 32
  private static let maximumFlag = 8

  /// Whether a value looks like a key: 16 hexadecimal digits and more, or 20 letters of both cases
  /// with digits.
  private static func isRandom(_ value: Substring) -> Bool {
    let bytes = value.utf8
    let (digits, upper, lower) = (
      bytes.count { (0x30...0x39).contains($0) }, bytes.count { (0x41...0x5A).contains($0) },
      bytes.count { (0x61...0x7A).contains($0) }
    )
    guard digits > 0, digits + upper + lower == bytes.count, bytes.count >= 16 else { return false }
    return bytes.allSatisfy { PercentCoding.nibble($0) != nil }
      || (bytes.count >= 20 && upper > 0 && lower > 0)
  }

  /// Whether the value only grants access for a time, and does not select the resource.
  /// - Parameter isSAS: whether the query has a `sig`, as shared access signatures have.
  func isSigning(inSAS isSAS: Bool) -> Bool {
    Self.signingPrefixes.contains { name.hasBytePrefix($0) } || Self.signing.contains(name)
      || (isSAS && Self.sharedAccess.contains(name))
  }

  /// Whether the query signs the whole address, so that another resource has another signature.
  static func isSigned(_ items: [QueryItem]) -> Bool {
    let names = Set(items.map(\.name))
    let pairs: [(signature: String, others: Set<String>)] = [
      ("x-amz-signature", ["x-amz-credential"]), ("x-goog-signature", ["x-goog-credential"]),
      ("x-oss-signature", ["x-oss-credential"]), ("q-signature", ["q-ak"]), ("sig", ["se"]),
      (
        "signature",
        ["key-pair-id", "awsaccesskeyid", "googleaccessid", "ossaccesskeyid", "policy"]
      ),
    ]
    return pairs.contains { names.contains($0) && !names.isDisjoint(with: $1) }
  }

  /// The item without its value.
  var nameOnly: Substring { value == nil ? text : text.prefix(beforeAnyOf: "=") }

  /// Whether it is the signature of a shared access signature.
  var isSharedAccessSignature: Bool { name == "sig" }

  fileprivate var mayExpire: Bool { isSecret || (value?.utf8.count ?? 0) > Self.maximumShown }

  private var isSecret: Bool {
    isSigning(inSAS: true) || Self.secrets.contains(name) || name.hasByteSuffix("key")
      || Self.secretParts.contains { name.hasBytes($0) }
  }

  private static let signingPrefixes = ["x-amz-", "x-goog-", "x-oss-", "q-sign", "q-key-time"]

  private static let signing: Set = [
    "signature", "expires", "key-pair-id", "policy", "sig", "se", "token", "access_token",
    "awsaccesskeyid", "googleaccessid", "ossaccesskeyid", "security-token", "q-ak", "jwt",
    "hdnea", "hdnts", "__token__", "__gda__", "auth_key", "sign", "verify", "ticket", "md5", "hmac",
    "wssecret", "wstime", "txsecret", "txtime", "x-xet-signed-range",
  ]

  /// Names whose values change with every new shared access signature.
  private static let sharedAccess: Set = [
    "sp", "st", "spr", "sip", "sv", "sr", "skoid", "sktid", "skt", "ske", "sks", "skv",
  ]

  private static let secrets: Set = [
    "key", "sign", "pass", "pwd", "auth", "authorization", "code", "sid", "session", "ticket",
    "otp", "pin", "pw", "psw", "pat", "cred", "access", "userpass",
  ]

  private static let secretParts = [
    "token", "secret", "password", "passwd", "passphrase", "signature", "credential", "apikey",
    "api_key", "api-key", "accesskey", "access_key", "access-key", "sessionid", "session_id",
    "sessid", "jwt", "bearer", "hmac", "auth-key", "auth_key", "authkey", "pass_phrase", "license",
    "sharekey", "share_key", "shared_key", "rlkey", "nonce", "passcode", "_pass", "auth_", "-pass",
    "auth-",
  ]
}

extension ResourceURL {
  /// The form that may be logged, shown or stored: without user information, and without values of
  /// the query, or of parameters in the path (`;jsessionid=…`), that are known to be secret, look
  /// like a key or are longer than 32 bytes.
  public var redacted: String {
    let text = query == nil ? absoluteString : Self.mappingItems(of: absoluteString, \.redacted)
    return Self.redactingPathParameters(text)
  }

  private static func redactingPathParameters(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: ";")) else { return text }
    var (shown, rest, isParameter) = ("", text[...], false)
    while true {
      let part = rest.prefix(beforeAnyOf: ";/?")
      let hasValue = part.utf8.contains(UInt8(ascii: "="))
      shown += isParameter && hasValue ? QueryItem(part).redacted : String(part)
      rest = rest[part.endIndex...]
      guard let mark = rest.utf8.first, mark != UInt8(ascii: "?") else { return shown + rest }
      isParameter = mark == UInt8(ascii: ";")
      shown.unicodeScalars.append(Unicode.Scalar(mark))
      rest = rest[rest.utf8.index(after: rest.startIndex)...]
    }
  }

  /// An address, redacted or not, without user information, in the form for what is kept for long:
  /// no value of the query is shown, whatever its name and whether `&` or `;` separates it.
  package static func withoutQueryValues(_ text: String) -> String {
    mappingItems(of: text, \.withoutValue)
  }

  /// Each item of the query changed, whether `&` or `;` separates it from the next one.
  private static func mappingItems(of text: String, _ change: (QueryItem) -> String) -> String {
    guard let mark = text.firstByteIndex(of: "?") else { return text }
    var shown = String(text[...mark])
    var rest = text[text.utf8.index(after: mark)...]
    while true {
      let item = rest.prefix(beforeAnyOf: "&;")
      shown += change(QueryItem(item))
      guard item.endIndex < rest.endIndex else { return shown }
      let next = rest.utf8.index(after: item.endIndex)
      shown += rest[item.endIndex..<next]
      rest = rest[next...]
    }
  }

  /// The address in that form, normalized.
  package var withoutQueryValues: String { Self.withoutQueryValues(normalized.absoluteString) }

  /// A text that is the same for every link to a resource: the address without values of known
  /// signing parameters. It may hold secrets.
  package var resourceText: String {
    guard let query else { return absoluteString }
    let items = QueryItem.all(of: query)
    let isSAS = items.contains(where: \.isSharedAccessSignature)
    return withQuery(
      items.map { String($0.isSigning(inSAS: isSAS) ? $0.nameOnly : $0.text) })
  }

  /// A text that is equal only for certainly the same resource: `resourceText` if a signature
  /// covers the address, otherwise the whole address. A token may select the resource.
  package var exactResourceText: String {
    guard let query, QueryItem.isSigned(QueryItem.all(of: query)) else { return absoluteString }
    return resourceText
  }

  /// Whether its query has a signature or a token, which may be valid for a time.
  package var mayExpire: Bool {
    query.map { QueryItem.all(of: $0).contains(where: \.mayExpire) } ?? false
  }

  private func withQuery(_ items: [String]) -> String {
    "\(absoluteString.prefix(beforeAnyOf: "?"))?\(items.joined(separator: "&"))"
  }
}

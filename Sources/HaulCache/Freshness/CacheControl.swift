package import HaulCore

/// `Cache-Control` of a request or a response (RFC 9111, section 5.2; RFC 5861); without it,
/// `Pragma` (section 5.4).
///
/// When in doubt, a response counts as stale: a time that cannot be read, and times that differ,
/// are 0 (section 4.2.1). Directives for shared caches are ignored, and so is `immutable`.
package struct CacheControl: Hashable, Sendable {
  /// Seconds.
  package var maxAge: Int64?
  package var noStore = false
  /// Also with field names: the whole response must be validated.
  package var noCache = false
  package var mustRevalidate = false
  /// Seconds.
  package var staleWhileRevalidate: Int64?
  /// Seconds.
  package var staleIfError: Int64?
  /// Seconds; of requests.
  package var minFresh: Int64?
  /// Seconds, `Int64.max` without a limit; of requests.
  package var maxStale: Int64?
  /// Whether a request takes only what the cache has.
  package var onlyIfCached = false

  package init() {}

  /// Reads all `Cache-Control` fields of a message.
  package init(_ headers: HeaderFields) {
    let values = headers.values(of: "Cache-Control")
    guard !values.isEmpty else {
      noCache = headers.values(of: "Pragma").contains { Self.words($0).contains("no-cache") }
      return
    }
    let text = values.joined(separator: ",")
    var scanner = FieldScanner(text)
    while true {
      scanner.skipWhitespace()
      if scanner.take(",") { continue }
      guard !scanner.isAtEnd else { return }
      guard addDirective(&scanner) else {
        addMalformed(text)
        return
      }
    }
  }

  /// Takes a directive and what ends it; false if it is malformed.
  private mutating func addDirective(_ scanner: inout FieldScanner) -> Bool {
    guard let name = scanner.token() else { return false }
    var argument: String?
    if scanner.take("=") {
      argument = scanner.token() ?? scanner.quotedString()
      if argument == nil { return false }
    }
    add(name.lowercased(), argument: argument)
    scanner.skipWhitespace()
    return scanner.isAtEnd || scanner.take(",")
  }

  /// Nobody knows where the directives of a malformed field end. What forbids a use is obeyed
  /// wherever it is, and what allows one is not.
  private mutating func addMalformed(_ text: String) {
    for word in Self.words(text) where Self.forbidding.contains(word) { add(word, argument: nil) }
    (maxAge, maxStale, mustRevalidate) = (0, nil, true)
    (staleWhileRevalidate, staleIfError) = (nil, nil)
  }

  private static let forbidding: Set<String> = ["no-store", "no-cache", "only-if-cached"]

  /// Its tokens, in lower case, also those in quotes.
  private static func words(_ text: String) -> [String] {
    text.lowercased().utf8.split { !FieldScanner.isTokenCharacter($0) }.map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  private mutating func add(_ name: String, argument: String?) {
    switch name {
    case "max-age": maxAge = Self.agreed(maxAge, argument)
    case "no-store": noStore = true
    case "no-cache": noCache = true
    case "must-revalidate": mustRevalidate = true
    case "stale-while-revalidate":
      staleWhileRevalidate = Self.agreed(staleWhileRevalidate, argument)
    case "stale-if-error": staleIfError = Self.agreed(staleIfError, argument)
    case "min-fresh": minFresh = max(minFresh ?? 0, DeltaSeconds.read(argument) ?? .max)
    case "max-stale":
      maxStale = argument == nil ? maxStale ?? .max : Self.agreed(maxStale, argument)
    case "only-if-cached": onlyIfCached = true
    default: break
    }
  }

  /// The number of seconds; 0 if it cannot be read, or differs from one before.
  private static func agreed(_ known: Int64?, _ argument: String?) -> Int64 {
    let seconds = DeltaSeconds.read(argument) ?? 0
    return known ?? seconds == seconds ? seconds : 0
  }
}

/// A number of seconds (RFC 9111, section 1.2.2).
package enum DeltaSeconds {
  /// 68 years, which stands for everything longer.
  package static let maximum: Int64 = 1 << 31

  /// Nil if it is not a number.
  package static func read(_ text: String?) -> Int64? {
    guard let text, !text.isEmpty, text.utf8.allSatisfy(FieldScanner.isDigit) else { return nil }
    return min(FieldScanner.decimal(Array(text.utf8)) ?? maximum, maximum)
  }
}

package import HaulCore

/// `Cache-Control` of a request or a response (RFC 9111, section 5.2; RFC 5861; RFC 8246).
///
/// When in doubt, a response counts as stale: a time that cannot be read is 0, and of several times
/// the shortest is used (section 4.2.1). Directives for shared caches are ignored.
package struct CacheControl: Hashable, Sendable {
  /// Seconds.
  package var maxAge: Int64?
  package var noStore = false
  /// Also with field names: the whole response must be validated.
  package var noCache = false
  package var mustRevalidate = false
  package var isImmutable = false
  /// Seconds.
  package var staleWhileRevalidate: Int64?
  /// Seconds.
  package var staleIfError: Int64?
  /// Seconds; of requests.
  package var minFresh: Int64?
  /// Seconds, `Int64.max` without a limit; of requests.
  package var maxStale: Int64?
  /// Of requests.
  package var onlyIfCached = false

  package init() {}

  /// Reads all `Cache-Control` fields of a message.
  package init(_ headers: HeaderFields) {
    var scanner = FieldScanner(headers.values(of: "Cache-Control").joined(separator: ","))
    while true {
      scanner.skipWhitespace()
      if scanner.take(",") { continue }
      guard !scanner.isAtEnd else { return }
      if let name = scanner.token() { add(name.lowercased(), argument: scanner.argument()) }
      // What follows a directive, or is none, is skipped.
      _ = scanner.takeRun { $0 != UInt8(ascii: ",") }
    }
  }

  private mutating func add(_ name: String, argument: String?) {
    switch name {
    case "max-age": maxAge = Self.shorter(maxAge, argument)
    case "no-store": noStore = true
    case "no-cache": noCache = true
    case "must-revalidate": mustRevalidate = true
    case "immutable": isImmutable = true
    case "stale-while-revalidate":
      staleWhileRevalidate = Self.shorter(staleWhileRevalidate, argument)
    case "stale-if-error": staleIfError = Self.shorter(staleIfError, argument)
    case "min-fresh": minFresh = max(minFresh ?? 0, DeltaSeconds.read(argument) ?? .max)
    case "max-stale":
      maxStale = argument == nil ? maxStale ?? .max : Self.shorter(maxStale, argument)
    case "only-if-cached": onlyIfCached = true
    default: break
    }
  }

  private static func shorter(_ known: Int64?, _ argument: String?) -> Int64 {
    min(known ?? .max, DeltaSeconds.read(argument) ?? 0)
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

extension FieldScanner {
  /// Takes `=` and a token or a quoted string; nil without an argument, empty for a malformed one.
  fileprivate mutating func argument() -> String? {
    skipWhitespace()
    guard take("=") else { return nil }
    skipWhitespace()
    return token() ?? quotedString() ?? ""
  }
}

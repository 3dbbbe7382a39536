/// How a value is written outside of this process, and read with its check.
package struct FieldForm<Value: Sendable>: Sendable {
  typealias Read = @Sendable () throws(WrongValue) -> Value

  let write: @Sendable (Value, AnyKey, inout KeyedEncodingContainer<AnyKey>) throws -> Void
  /// Nil for a missing key.
  let read: @Sendable (KeyedDecodingContainer<AnyKey>, AnyKey) throws -> Read?

  /// - Parameters:
  ///   - write: nil leaves the key out.
  ///   - read: nil for a value that is wrong.
  ///   - rule: what is wrong then, behind the quoted key.
  fileprivate init<Text: Codable & Sendable>(
    _ write: @escaping @Sendable (Value) -> Text?, _ read: @escaping @Sendable (Text) -> Value?,
    _ rule: String = "is wrong"
  ) {
    self.init(write) { (text: Text, key) throws(WrongValue) in
      guard let value = read(text) else { throw WrongValue("'\(key)' \(rule)") }
      return value
    }
  }

  fileprivate init<Text: Codable & Sendable>(
    _ write: @escaping @Sendable (Value) -> Text?,
    check: @escaping @Sendable (Text, _ key: String) throws(WrongValue) -> Value
  ) {
    self.write = { value, key, object in try object.encodeIfPresent(write(value), forKey: key) }
    self.read = { object, key in
      guard let text = try object.decodeIfPresent(Text.self, forKey: key) else { return nil }
      return { () throws(WrongValue) in try check(text, key.stringValue) }
    }
  }
}

extension FieldForm where Value: Codable {
  static var plain: Self { Self({ $0 }, { $0 }) }
}

private let notNegative = "must not be negative"

extension FieldForm where Value: Codable & Comparable & SignedNumeric {
  static var positive: Self { Self({ $0 }, { $0 > 0 ? $0 : nil }, "must be at least 1") }
  static var count: Self { Self({ $0 }, { $0 >= 0 ? $0 : nil }, notNegative) }
}

extension FieldForm<Int64?> {
  static var size: Self {
    // Without the type, `nil` would be a value.
    Self({ $0 }, { (size: Int64) -> Int64?? in size >= 0 ? .some(size) : .none }, notNegative)
  }
  static var rate: Self { Self({ $0 }, check: TransferRequest.rate) }
}

extension FieldForm<Double?> {
  static var startTime: Self { Self({ $0 }, check: TransferRequest.startTime) }
}

extension FieldForm<Repetition?> {
  static var words: Self {
    Self({ $0?.storedText }) { (text: String, _) throws(WrongValue) in
      try TransferRequest.repetition(text)
    }
  }
}

extension FieldForm<Duration> {
  static var seconds: Self {
    Self({ $0 / .seconds(1) }, { $0 >= 0 ? .seconds(min($0, 1e9)) : nil }, notNegative)
  }

  /// Seconds and attoseconds.
  static var components: Self {
    Self({ [$0.components.seconds, $0.components.attoseconds] }) { parts in
      parts.count < 2
        ? nil : Duration(secondsComponent: parts[0], attosecondsComponent: parts[1])
    }
  }
}

extension FieldForm<[Checksum]> {
  static var list: Self {
    Self({ $0.map(\.description) }) { (words: [String], _) throws(WrongValue) in
      guard let checksums = words.checksums else {
        throw WrongValue("a checksum is written as sha-256=HEX")
      }
      return checksums
    }
  }

  /// Separated by spaces.
  static var words: Self { Self(\.words, { $0.checksums }) }
}

extension [Checksum] {
  /// The checksums, separated by spaces; nil when there are none.
  package var words: String? { isEmpty ? nil : map(\.description).joined(separator: " ") }
}

extension String {
  /// The checksums that it has, separated by spaces; nil if one cannot be read.
  package var checksums: [Checksum]? { byteSplit(separator: " ").map { String($0) }.checksums }
}

extension [String] {
  fileprivate var checksums: [Checksum]? {
    let checksums = compactMap { Checksum($0) }
    return checksums.count == count ? checksums : nil
  }
}

extension FieldForm<Set<String>> {
  static var sorted: Self { Self({ $0.sorted() }, { Set($0) }) }
}

extension FieldForm<UInt32?> {
  static var octal: Self {
    Self(
      { $0.map { String($0, radix: 8) } },
      { text -> UInt32?? in
        guard let mask = UInt32(text, radix: 8), mask <= 0o777 else { return .none }
        return .some(mask)
      },
      "is an octal number, such as 022")
  }
}

extension FieldForm<Bool> {
  static var inverted: Self { Self({ !$0 }, { !$0 }) }
}

extension FieldForm<String?> {
  /// It is kept in memory, shown, and passed to programs.
  static var name: Self {
    Self({ $0 }) { (name: String, _) throws(WrongValue) in try TransferRequest.name(name) }
  }
}

private let longestName = 1024

extension FieldForm<TransferRequest.Priority> {
  static var name: Self {
    Self(\.name) { (name, _) throws(WrongValue) in try TransferRequest.priority(name) }
  }
}

extension FieldForm<UploadRequest.Method> {
  static var name: Self {
    Self({ $0.rawValue.lowercased() }) { (name, _) throws(WrongValue) in
      guard let method = UploadRequest.Method(rawValue: name.uppercased()) else {
        let names = UploadRequest.Method.allCases.map { $0.rawValue.lowercased() }
          .joined(separator: ", ")
        throw WrongValue("there is no method '\(name)'; use one of \(names)")
      }
      return method
    }
  }
}

extension FieldForm<UploadRequest.Precondition> {
  /// `*` for no resource, or an entity tag.
  static var tag: Self {
    Self(
      { condition in
        switch condition {
        case .none: nil
        case .absent: "*"
        case .entityTag(let tag): tag
        }
      }, { $0 == "*" ? .absent : .entityTag($0) })
  }
}

/// Checks of what may also change later.
extension TransferRequest {
  /// The name of a transfer or a group.
  package static func name(_ name: String) throws(WrongValue) -> String {
    guard (1...longestName).contains(name.utf8.count) else {
      throw WrongValue("a name has 1 to \(longestName) bytes")
    }
    return name
  }

  package static func priority(_ name: String) throws(WrongValue) -> Priority {
    guard let priority = Priority(name: name) else {
      throw WrongValue("there is no priority '\(name)'; use \(Priority.names)")
    }
    return priority
  }

  /// A start time in seconds since 1970; nil for at once.
  package static func startTime(
    _ seconds: Double, _ key: String = "starts_at"
  ) throws(WrongValue) -> Double? {
    guard (0...1e11).contains(seconds) else {
      throw WrongValue("'\(key)' is a time in seconds since 1970, up to the year 5138")
    }
    return seconds > 0 ? seconds : nil
  }

  package static func repetition(
    _ text: String, _ key: String = "every"
  ) throws(WrongValue) -> Repetition {
    guard let repetition = Repetition(text) else {
      throw WrongValue("'\(key)': \(Repetition.hint)")
    }
    return repetition
  }

  /// A rate limit in bytes per second; nil for none.
  package static func rate(
    _ rate: Int64, _ key: String = "rate_limit"
  ) throws(WrongValue) -> Int64? {
    guard rate >= 0 else { throw WrongValue("'\(key)' \(notNegative)") }
    return rate > 0 ? rate : nil
  }
}

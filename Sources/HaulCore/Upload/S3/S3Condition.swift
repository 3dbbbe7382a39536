/// What a store must have for an object to be made: what it had before the first byte of the source
/// was read. So no run of a transfer replaces what another one has published since.
package struct S3Condition: RawRepresentable, Sendable, Hashable, Codable {
  /// The entity tag of the object, which is strong; `*` for no object.
  package let rawValue: String

  package init(rawValue: String) { self.rawValue = rawValue }

  /// There is no object.
  package static let absent = S3Condition(rawValue: "*")

  /// What the answer to HEAD says; nil if it does not say which object there is.
  init?(_ head: ResponseHead) {
    switch head.status {
    case 404: self = .absent
    case 200..<300:
      guard let tag = head.headers["ETag"], EntityTag(tag)?.isWeak == false else { return nil }
      self.init(rawValue: tag)
    default: return nil
    }
  }

  /// The field of the request that makes the object (RFC 9110, section 13.1).
  var field: (String, String) {
    self == .absent ? ("If-None-Match", "*") : ("If-Match", rawValue)
  }

  /// Whether it holds still, by the answer to HEAD; nil if that does not say so.
  func holds(for head: ResponseHead) -> Bool? {
    switch head.status {
    case 404: self == .absent
    case 200..<300 where self == .absent: false
    case 200..<300: head.headers["ETag"].map { $0.isByteEqual(rawValue) }
    default: nil
    }
  }
}

/// Why the store is asked which object it has.
enum S3Doubt: Sendable {
  /// It no longer has the upload: perhaps it has made the object.
  case gone(TransferError)
  /// The condition does not hold.
  case unmet(TransferError)
  /// Another request for the object was under way.
  case conflict(TransferError)
  /// The store refuses the request without saying that the condition does not hold.
  case refused(TransferError)
  /// The source has changed: another run may have published the new version.
  case source(TransferError)
  /// The object is about to be made, and not every store obeys the condition then, or takes it.
  case publication(isConditional: Bool)

  /// Whether the upload goes on without an answer.
  var isOptional: Bool {
    switch self {
    case .source: true
    case .publication(let isConditional): isConditional
    case .gone, .unmet, .conflict, .refused: false
    }
  }
}

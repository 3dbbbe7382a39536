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

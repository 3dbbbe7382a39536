/// What a server must have for a file to be stored: what it had before the first byte of the source
/// was read. So no run of a transfer replaces what another one has published since.
package struct UploadCondition: RawRepresentable, Sendable, Hashable, Codable {
  /// The entity tag of what is there, which is strong; `*` for nothing.
  package let rawValue: String

  package init(rawValue: String) { self.rawValue = rawValue }

  /// There is nothing.
  package static let absent = UploadCondition(rawValue: "*")

  /// What the answer to HEAD says; nil if it does not say what is there.
  init?(_ head: ResponseHead) {
    switch head.status {
    case 404, 410: self = .absent
    case 200..<300:
      guard let tag = head.headers["ETag"], EntityTag(tag)?.isWeak == false else { return nil }
      self.init(rawValue: tag)
    default: return nil
    }
  }

  /// The field of the request that stores the file (RFC 9110, section 13.1).
  var field: (String, String) {
    self == .absent ? ("If-None-Match", "*") : ("If-Match", rawValue)
  }

  /// Whether it holds still, by the answer to HEAD; nil if that does not say so.
  func holds(for head: ResponseHead) -> Bool? {
    switch head.status {
    case 404, 410: self == .absent
    case 200..<300 where self == .absent: false
    case 200..<300: head.headers["ETag"].map { $0.isByteEqual(rawValue) }
    default: nil
    }
  }
}

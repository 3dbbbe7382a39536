import HaulCore

/// What a head says of a body that is stored while it passes.
extension ResponseHead {
  /// The length of the whole resource; nil if its end shows it.
  var wholeLength: Int64? {
    if status == 206 { return ContentRange(headers)?.total }
    guard headers["Transfer-Encoding"] == nil, case .bytes(let length) = ContentLength(headers)
    else { return nil }
    return length
  }

  /// Why the body cannot be stored, whatever the caching fields say.
  func obstacle(toStoring limit: Int64) -> String? {
    let length = wholeLength
    if status == 203 { return "a proxy may have changed it" }
    if status == 206 {
      guard let length, ContentRange(headers)?.range == 0..<length else {
        return "the server sent only a part"
      }
    } else if length == nil, endsWithConnection {
      return "nothing shows whether it is complete"
    }
    return length ?? 0 > limit ? "it is too large" : nil
  }
}

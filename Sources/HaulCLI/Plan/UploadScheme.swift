import HaulCore

/// A protocol of uploads that the scheme of an address names.
struct UploadScheme {
  let method: UploadRequest.Method
  /// The address with the scheme of HTTP.
  let address: String

  /// What each prefix stands for.
  private static let known: [(prefix: String, http: String, method: UploadRequest.Method)] = [
    ("tus+", "", .tus), ("dav+", "", .webDAV), ("dav://", "http://", .webDAV),
    ("davs://", "https://", .webDAV),
  ]

  /// Nil for an address of plain HTTP.
  init?(of address: String) {
    for (prefix, http, method) in Self.known {
      guard let rest = address.dropping(bytePrefix: prefix) else { continue }
      (self.method, self.address) = (method, http + rest)
      return
    }
    return nil
  }
}

extension UploadRequest.Method {
  /// Whether the address is the file's own; otherwise the server chooses where the file goes.
  var namesFile: Bool {
    switch self {
    case .put, .s3, .webDAV, .resumable: true
    case .post, .tus: false
    }
  }
}

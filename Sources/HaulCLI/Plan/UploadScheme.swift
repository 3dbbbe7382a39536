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
    guard let found = Self.known.first(where: { address.hasPrefix($0.prefix) }) else { return nil }
    method = found.method
    self.address = found.http + address.dropFirst(found.prefix.count)
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

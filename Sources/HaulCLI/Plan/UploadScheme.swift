import HaulCore

/// A protocol of uploads that the scheme of an address names.
struct UploadScheme {
  let method: UploadRequest.Method
  /// The address with the scheme of HTTP.
  let address: String

  /// Nil for an address of plain HTTP.
  init?(of address: String) {
    for method in UploadRequest.Method.allCases {
      for (prefix, http) in method.uploadProtocol.schemes {
        guard let rest = address.dropping(bytePrefix: prefix) else { continue }
        (self.method, self.address) = (method, http + rest)
        return
      }
    }
    return nil
  }
}

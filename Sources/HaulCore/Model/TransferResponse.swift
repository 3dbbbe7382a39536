public import FoundationEssentials

/// What a server answered to a transfer last. Its header fields and its body may hold secrets: it
/// prints without them.
public struct TransferResponse: Hashable, Sendable {
  /// Such as 200, 206 for a range, or 404.
  public let status: Int
  /// The address that answered, after all redirects.
  public let url: ResourceURL
  /// As the server sent them; `headers["Content-Type"]` is the type.
  public let headers: HeaderFields
  /// The body of the answer to an upload, if it is at most 64 KiB; nil for a download.
  public let body: Data?

  /// An answer, for previews, fakes and tests.
  /// - Parameters: the values of the properties of the same names.
  public init(
    status: Int, url: ResourceURL, headers: HeaderFields = HeaderFields(), body: Data? = nil
  ) {
    (self.status, self.url, self.headers, self.body) = (status, url, headers, body)
  }

  /// The answer to an upload.
  package init(_ answer: UploadAnswer) {
    let isKept = answer.isWhole && answer.body.count <= Self.longestBody
    self.init(
      status: answer.head.status, url: answer.head.url, headers: answer.head.headers,
      body: isKept ? Data(answer.body) : nil)
  }

  /// The answer to a download.
  package init(_ head: ResponseHead) {
    self.init(status: head.status, url: head.url, headers: head.headers)
  }

  private static let longestBody = 64 << 10
}

extension TransferResponse: CustomStringConvertible, CustomReflectable {
  /// The status and the address without its secrets.
  public var description: String { "\(status) from \(url.redacted)" }

  /// What `description` says.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A page of the list of a bucket's objects (ListObjectsV2).
package struct S3ListPage: Sendable, Hashable {
  /// In the store's order; nil for a key that is no UTF-8, or not below the prefix.
  package let keys: [String?]
  /// What asks for the next page; nil after the last one.
  package let next: String?

  /// The most bytes of a page: 1,000 keys of 1,024 bytes, each of which may be three, and the rest.
  package static let maximumSize = 8 << 20

  /// - Parameters:
  ///   - prefix: that was asked for.
  ///   - token: that asked for this page; nil for the first one.
  /// - Throws: `protocol-violation` for what cannot be read, and for a list without an end; another
  ///   answer may be better if it can be retried, because that is no document, or half of one.
  package init(
    _ body: [UInt8], below prefix: String, after token: String? = nil
  ) throws(TransferError) {
    let root = XMLElement(document: body)
    guard let root, root.isAnswer("ListBucketResult") else {
      throw TransferError(
        .protocolViolation, "the store's list of objects cannot be read", isRetryable: root == nil)
    }
    // Some stores ignore that keys were asked for in a form that may have any byte.
    let isEncoded = root["EncodingType"]?.lowercased() == "url"
    keys = root.children.filter { $0.name == "Contents" }.map { object in
      let text = object["Key"] ?? ""
      guard isEncoded else { return text.hasBytePrefix(prefix) ? text : nil }
      // Amazon encodes as a form: a plus is a space.
      let bytes = PercentCoding.decoded(text.replacingBytes("+", with: "%20"))
      return String(validating: bytes, as: UTF8.self).flatMap {
        $0.hasBytePrefix(prefix) ? $0 : nil
      }
    }
    next = root["IsTruncated"] == "true" ? root["NextContinuationToken"] ?? "" : nil
    guard next != "", next == nil || next != token else {
      throw TransferError(.protocolViolation, "the store's list of objects has no end")
    }
  }

  package static func query(below prefix: String, after token: String? = nil) -> String {
    let start = "list-type=2&encoding-type=url&max-keys=1000&prefix="
    let rest = token.map { "&continuation-token=\(PercentCoding.component($0))" } ?? ""
    return start + PercentCoding.component(prefix) + rest
  }
}

extension S3Object {
  /// The list of a bucket's objects, which is asked for as an object is.
  package init(
    listOf bucket: String, _ query: String, region: String, endpoint: ResourceURL?,
    addressing: Addressing
  ) throws(TransferError) {
    let object = try S3Object(
      bucket: bucket, key: "k", region: region, endpoint: endpoint, addressing: addressing)
    self.init(
      listOf: bucket, region, try ResourceURL("\(object.url.absoluteString.dropLast())?\(query)"))
  }
}

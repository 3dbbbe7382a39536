import StructuredFieldValues

/// What a server allows for resumable uploads: `Upload-Limit`
/// (draft-ietf-httpbis-resumable-upload, section 4.1.4), a dictionary of integers.
package struct UploadLimit: Sendable, Hashable {
  /// A shorter file is sent without resuming, in bytes; nil for no limit.
  package let minimumSize: Int64?
  /// The most bytes of a whole file; nil for no limit.
  package let maximumSize: Int64?
  /// The most bytes of one request; nil for no limit.
  package let maximumAppend: Int64?
  /// The least bytes of one request, except the one that completes the file; nil for no limit.
  package let minimumAppend: Int64?

  /// Nil without the field, or if it is malformed: then the server offers nothing.
  package init?(_ headers: HeaderFields) {
    let text = headers.values(of: "Upload-Limit").joined(separator: ", ")
    guard !text.isEmpty else { return nil }
    do {
      let field: Field = try StructuredFieldValueDecoder().decode(from: Array(text.utf8))
      (minimumSize, maximumSize) = (field.minSize, field.maxSize)
      maximumAppend = field.maxAppendSize.map { max(1, $0) }
      minimumAppend = field.minAppendSize.map { max(1, $0) }
    } catch {
      return nil
    }
  }

  private struct Field: StructuredFieldValue {
    static let structuredFieldType = StructuredFieldType.dictionary

    var minSize: Int64?
    var maxSize: Int64?
    var minAppendSize: Int64?
    var maxAppendSize: Int64?

    enum CodingKeys: String, CodingKey {
      case minSize = "min-size"
      case maxSize = "max-size"
      case minAppendSize = "min-append-size"
      case maxAppendSize = "max-append-size"
    }
  }
}

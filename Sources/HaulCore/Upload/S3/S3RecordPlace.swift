import Crypto
import FoundationEssentials

/// Where an S3 store keeps what later runs need of uploads, so that another machine can go on.
package struct S3RecordPlace: Hashable, Sendable {
  private let bucket: String
  private let prefix: String
  private let store: S3Store

  /// A store, and who asks it.
  package struct S3Store: Hashable, Sendable {
    let region: String
    let endpoint: ResourceURL?
    let addressing: S3Object.Addressing
    let credentials: S3Credentials?
    let keySource: S3KeySource?

    package init(
      region: String, endpoint: ResourceURL?, addressing: S3Object.Addressing,
      credentials: S3Credentials?, keySource: S3KeySource?
    ) {
      (self.region, self.endpoint, self.addressing) = (region, endpoint, addressing)
      (self.credentials, self.keySource) = (credentials, keySource)
    }
  }

  /// - Parameter prefix: of the keys of the records; empty, or it ends with `/`.
  /// - Throws: `bad-url` for names that no bucket or object can have.
  package init(bucket: String, prefix: String, in store: S3Store) throws(TransferError) {
    (self.bucket, self.prefix, self.store) = (bucket, prefix, store)
    _ = try object("0")
  }

  private func object(_ name: String) throws(TransferError) -> S3Object {
    try S3Object(
      bucket: bucket, key: prefix + name, region: store.region, endpoint: store.endpoint,
      addressing: store.addressing)
  }

  /// The requests for the record of an upload.
  package func messages(of upload: UploadRequest) throws(TransferError) -> S3RecordMessages {
    var request = UploadRequest(to: try object(upload.recordName), credentials: store.credentials)
    (request.keySource, request.allowInsecure) = (store.keySource, upload.allowInsecure)
    return S3RecordMessages(request)
  }
}

/// The requests for one record.
package struct S3RecordMessages: Sendable {
  /// Whose requests they are.
  package let request: UploadRequest
  private let messages: S3Messages

  init(_ request: UploadRequest) {
    (self.request, messages) = (request, S3Messages(request: request))
  }

  package var read: UploadMessage { messages.message("GET", messages.object) }
  package var delete: UploadMessage { messages.message("DELETE", messages.object) }

  /// - Throws: `internal`.
  package func write(_ record: UploadRecord) throws(TransferError) -> UploadMessage {
    var message = messages.message("PUT", messages.object)
    do {
      message.body = Array(try JSONEncoder().encode(record))
    } catch {
      throw TransferError(.internal, "the upload's record cannot be encoded")
    }
    message.fields.append("Content-Type", "application/json")
    return message
  }

  /// What the store has; nil for no record, and for one that cannot be read.
  /// - Throws: why the store did not answer the question, or did not do what it was told.
  package func record(in answer: UploadAnswer) throws(TransferError) -> UploadRecord? {
    switch answer.head.status {
    case 200..<300: return try? JSONDecoder().decode(UploadRecord.self, from: Data(answer.body))
    case 404: return nil
    default: throw S3Failure(answer).error(request).prefixed("the record of the upload: ")
    }
  }
}

extension UploadRequest {
  /// The name of its record: a digest, as the address may have secrets.
  package var recordName: String {
    // An address that is signed anew has another query.
    let address = download.map { $0.url.absoluteString.prefix(beforeAnyOf: "?") }
    let from = address ?? source.files.first?[...] ?? ""
    // The address of an unfinished upload is a secret, and its cancellation deletes it on the
    // server: a client over TCP does not find its owner's, and the reverse.
    let side = roots == nil ? "" : "\0client"
    let text = "\(from)\0\(url.absoluteString)\(side)"
    return SHA256.hash(data: Array(text.utf8)).prefix(16).hexDigits + ".upload"
  }
}

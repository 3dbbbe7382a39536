import Crypto
import FoundationEssentials

/// The requests for the record of an upload in an S3 store, from which another machine continues.
package struct S3RecordMessages: Sendable {
  /// Whose requests they are.
  package let request: UploadRequest
  private let messages: S3Messages

  /// - Parameter place: an upload to the place of the records, under any name.
  /// - Throws: `bad-url`.
  package init(
    of upload: UploadRequest, beside place: UploadRequest
  ) throws(TransferError) {
    var request = try place.sibling(named: upload.recordName)
    request.allowInsecure = upload.allowInsecure
    self.request = request
    messages = S3Messages(request: request)
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
  /// - Parameter isDamaged: whether there is one that cannot be read.
  /// - Throws: why the store refuses.
  package func record(
    in answer: UploadAnswer, isDamaged: inout Bool
  ) throws(TransferError) -> UploadRecord? {
    let failure = S3Failure(answer)
    if answer.head.status == 404, failure.code == nil || failure.lacksObject { return nil }
    try check(answer)
    let record = try? JSONDecoder().decode(UploadRecord.self, from: Data(answer.body))
    isDamaged = record == nil
    return record
  }

  /// - Throws: why the store refuses.
  package func check(_ answer: UploadAnswer) throws(TransferError) {
    guard (200..<300).contains(answer.head.status) else {
      throw S3Failure(answer).error(request).prefixed("the record of the upload: ")
    }
  }
}

extension UploadRequest {
  /// An upload to the same store with the same key, whose object has another last name.
  /// - Throws: `bad-url`.
  func sibling(named name: String) throws(TransferError) -> UploadRequest {
    let text = url.taking(nil).absoluteString
    let directory = text.utf8.lastIndex(of: UInt8(ascii: "/")).map { text[...$0] } ?? ""
    var sibling = self
    sibling.url = try ResourceURL(directory + name).taking(url.credentials)
    sibling.source = .stream(nil)
    return sibling
  }

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

import Crypto
import FoundationEssentials

/// Finds out whether an S3 store obeys the conditions by which no run of a transfer replaces the
/// object of another one: with a scratch object, which is deleted.
package struct S3ConditionProbe: Sendable {
  package enum Verdict: String, Sendable, Codable {
    case obeyed, ignored
    /// The store does not say what it has, so that no condition is known.
    case unasked
  }

  private enum Step {
    case creating, asking, creatingAgain, replacing, beginning
    case sending(upload: String)
    case completing(upload: String)
    /// The same without the condition that the store may have refused.
    case comparing(S3Failure, upload: String?)
    case aborting, deleting
  }

  /// Whose requests they are.
  package let request: UploadRequest
  /// The next request; nil at the end.
  package private(set) var message: UploadMessage?

  private let messages: S3Messages
  private var step = Step.creating
  private var outcome: Result<Verdict, TransferError>?
  /// The entity tag of the part.
  private var tag = ""
  /// What the store calls the versions of the scratch object.
  private var versions: [String] = []
  private var deletions: ArraySlice<ResourceURL> = []
  /// Whether the store still has the scratch object, a version of it, or its part.
  package private(set) var hasRemains = false

  private static let ifAbsent = ("If-None-Match", "*")
  /// No object has this entity tag.
  private static let ifOther = ("If-Match", "\"0\"")
  private static let content: [UInt8] = [UInt8(ascii: "1")]

  /// - Parameters:
  ///   - upload: to the store; the scratch object is beside its object.
  ///   - name: of the scratch object.
  /// - Throws: `bad-url`.
  package init(beside upload: UploadRequest, named name: String) throws(TransferError) {
    request = try upload.sibling(named: name)
    messages = S3Messages(request: request)
    message = put(Self.ifAbsent)
  }

  /// - Throws: why the store did not say it.
  package func verdict() throws(TransferError) -> Verdict {
    guard let outcome else { throw TransferError(.internal, "the store was not asked") }
    return try outcome.get()
  }

  /// The next request was answered, or failed.
  package mutating func take(_ result: Result<UploadAnswer, TransferError>) {
    switch (step, result) {
    case (.aborting, _):
      note(result)
      delete()
    case (.deleting, _):
      note(result)
      deleteNext()
    case (_, .failure(let error)): end(.failure(error), aborting: upload)
    case (_, .success(let answer)): take(answer)
    }
  }

  private mutating func take(_ answer: UploadAnswer) {
    let (failure, isDone) = (S3Failure(answer), (200..<300).contains(answer.head.status))
    let isUnmet = [412, 409].contains(answer.head.status) || failure.code == "PreconditionFailed"
    if isDone, let version = answer.head.headers["x-amz-version-id"], version != "null" {
      versions.append(version)
    }
    switch step {
    case .creating where isDone: go(to: .asking, messages.head)
    case .asking where UploadCondition(answer.head).map { $0 != .absent } ?? false:
      go(to: .creatingAgain, put(Self.ifAbsent))
    case .asking: end(.success(.unasked))
    case .creatingAgain where isUnmet: go(to: .replacing, put(Self.ifOther))
    case .replacing where isUnmet || answer.head.status == 404:
      var begin = messages.message("POST", messages.address("uploads"))
      begin.body = []
      go(to: .beginning, begin)
    case .beginning where isDone:
      let upload = XMLElement(document: answer.body)?["UploadId"] ?? ""
      let id = PercentCoding.component(upload)
      go(to: .sending(upload: id), put(nil, "partNumber=1&uploadId=\(id)"))
    case .sending(let upload) where isDone:
      tag = answer.head.headers["ETag"] ?? ""
      go(to: .completing(upload: upload), complete(upload, Self.ifAbsent))
    case .completing(let upload) where isUnmet: end(.success(.obeyed), aborting: upload)
    case .creatingAgain where isDone, .replacing where isDone, .completing where isDone,
      .comparing where isDone:
      end(.success(.ignored))
    case .creating where failure.mayRefuseConditions,
      .creatingAgain where failure.mayRefuseConditions,
      .replacing where failure.mayRefuseConditions:
      go(to: .comparing(failure, upload: nil), put(nil))
    case .completing(let upload) where failure.mayRefuseConditions:
      go(to: .comparing(failure, upload: upload), complete(upload, nil))
    case .comparing(let failure, let upload):
      end(.failure(failure.error(request)), aborting: upload)
    default: end(.failure(failure.error(request)), aborting: upload)
    }
  }

  /// The id of the upload that has begun; nil for none.
  private var upload: String? {
    switch step {
    case .sending(let upload), .completing(let upload): upload
    case .comparing(_, let upload): upload
    default: nil
    }
  }

  private mutating func go(to step: Step, _ message: UploadMessage) {
    (self.step, self.message) = (step, message)
  }

  private mutating func end(
    _ outcome: Result<Verdict, TransferError>, aborting upload: String? = nil
  ) {
    self.outcome = outcome
    guard let upload else { return delete() }
    go(to: .aborting, messages.message("DELETE", messages.address("uploadId=\(upload)")))
  }

  /// In a bucket that keeps versions, each of them: without that, they would cost for ever.
  private mutating func delete() {
    let versions = versions.map { messages.address("versionId=\(PercentCoding.component($0))") }
    deletions = (versions.isEmpty ? [messages.object] : versions)[...]
    deleteNext()
  }

  private mutating func deleteNext() {
    step = .deleting
    message = deletions.popFirst().map { messages.message("DELETE", $0) }
  }

  /// Whether the store did not delete something.
  private mutating func note(_ result: Result<UploadAnswer, TransferError>) {
    let status = (try? result.get())?.head.status ?? 0
    hasRemains = hasRemains || !((200..<300).contains(status) || status == 404)
  }

  /// With its MD5: where objects are locked, a store wants it.
  private func put(_ condition: (String, String)?, _ query: String? = nil) -> UploadMessage {
    var message = messages.message("PUT", query.map(messages.address) ?? messages.object)
    if let (name, value) = condition { message.fields.append(name, value) }
    let digest = Data(Insecure.MD5.hash(data: Self.content)).base64EncodedString()
    message.fields.append("Content-MD5", digest)
    message.body = Self.content
    return message
  }

  private func complete(_ upload: String, _ condition: (String, String)?) -> UploadMessage {
    var message = messages.message("POST", messages.address("uploadId=\(upload)"))
    if let (name, value) = condition { message.fields.append(name, value) }
    message.fields.append("Content-Type", "application/xml")
    let part = "<PartNumber>1</PartNumber><ETag>\(XMLElement.escaped(tag))</ETag>"
    message.body = Array(
      "<CompleteMultipartUpload><Part>\(part)</Part></CompleteMultipartUpload>".utf8)
    return message
  }
}

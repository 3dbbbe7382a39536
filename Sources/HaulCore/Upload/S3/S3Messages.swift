import Crypto

/// The requests of an upload to an S3 store, and what they need to know of it.
struct S3Messages: Sendable {
  let request: UploadRequest
  /// The address of the object: the given one, or where the store says that its bucket is.
  private(set) var object: ResourceURL
  /// The region that signatures name.
  private(set) var region: String
  /// How often the store has named another place for the bucket.
  private var relocations = 0
  /// Seconds to add to this machine's clock, so that it agrees with the store's.
  private var clockOffset = 0.0
  /// Which checksums are sent; nil for none.
  var checksums: S3Checksums?
  /// What the store has refused.
  private(set) var refusals: StoreRefusals
  /// What the store must have for the object to be made; nil if only the request says so.
  var condition: UploadCondition?
  /// Whether the store has refused a request with such a condition.
  var refusesConditions: Bool { refusals.contains(.conditions) }
  /// Names the transfer of a remote source; nil for any other source.
  let transfer: String?
  /// Names the version of the source that is sent; nil for any other source.
  let version: String?
  /// What the server of a remote source says of its bytes.
  private let fieldsOfSource: HeaderFields
  /// What proves that the store has the bytes of a part.
  var proof = S3Proof()
  /// Whether the signature covers the bytes of the file, because somebody on the way may change
  /// them. Over TLS, and on this machine, nobody does.
  private let signsBytes: Bool

  /// - Parameter staysLocal: whether the requests stay on this machine.
  ///   - source: nil if no object is made.
  init(
    request: UploadRequest, source: SourceIdentity? = nil, fields: HeaderFields = HeaderFields(),
    staysLocal: Bool = false, refusals: StoreRefusals = []
  ) {
    (self.request, object, fieldsOfSource) = (request, request.url, fields)
    self.refusals = refusals
    region = request.region ?? "us-east-1"
    signsBytes = request.url.origin.scheme != "https" && !staysLocal
    checksums = refusals.contains(.checksums) || request.hasOwnChecksums ? nil : .ofWhole
    transfer = request.download?.url.transferDigest
    version = (source?.remote?.validator).map { SHA256.hash(data: Array($0.utf8)).hexDigits }
  }

  /// The field of an object that names the upload which made it.
  static let markField = "x-amz-meta-haul-upload"
  /// The field of an object that names its transfer: the same in each run on any machine.
  static let transferField = "x-amz-meta-haul-transfer"
  /// The field of an object that names the version of its source.
  static let versionField = "x-amz-meta-haul-version"
  static let checksumField = "x-amz-checksum-crc32c"
  static let checksumAlgorithm = "x-amz-checksum-algorithm"
  static let checksumType = "x-amz-checksum-type"
  static let algorithm = "CRC32C"
  static let wholeObject = "FULL_OBJECT"

  /// Whether there is an object, and which.
  var head: UploadMessage { message("HEAD", object) }

  /// The same, with the checksums of the object.
  var headWithChecksums: UploadMessage {
    var message = head
    message.fields.append("x-amz-checksum-mode", "ENABLED")
    return message
  }

  /// The same of the first part of an object that was sent in parts.
  var headOfFirstPart: UploadMessage { message("HEAD", address("partNumber=1")) }

  /// The fields that are stored with the object. Without a `Content-Type`, stores send
  /// `application/octet-stream` to each reader.
  private var ofObject: HeaderFields {
    var fields = request.headers
    for field in fieldsOfSource.fields where fields[field.name] == nil {
      fields.append(field.name, field.value)
    }
    if fields["Content-Type"] == nil, let type = MediaType.ofFile(named: String(object.lastName)) {
      fields.append("Content-Type", type)
    }
    if let transfer { fields.append(Self.transferField, transfer) }
    if let version { fields.append(Self.versionField, version) }
    return fields
  }

  /// The fields of a request that makes the object.
  private var conditions: [(String, String)] {
    guard let condition, !refusesConditions else { return request.condition }
    return [condition.field]
  }

  /// The whole file as one object (PutObject). It has a mark only where it is looked for.
  func put(_ range: ByteRange, _ digest: S3Digest, mark: String) -> UploadMessage {
    var fields = ofObject
    if request.precondition != .none || condition != nil { fields.append(Self.markField, mark) }
    for (name, value) in conditions { fields.append(name, value) }
    return body(message("PUT", object, fields: fields), range, digest, part: 1)
  }

  /// Begins an upload in parts (CreateMultipartUpload).
  func create(mark: String) -> UploadMessage {
    var fields = ofObject
    fields.append(Self.markField, mark)
    if checksums != nil {
      fields.append(Self.checksumAlgorithm, Self.algorithm)
      fields.append(Self.checksumType, Self.wholeObject)
    }
    var message = message("POST", address("uploads"), fields: fields)
    message.body = []
    return message
  }

  /// One part (UploadPart).
  func part(
    _ number: Int, of upload: String, _ range: ByteRange, _ digest: S3Digest
  ) -> UploadMessage {
    body(
      message("PUT", address("partNumber=\(number)&uploadId=\(upload)")), range, digest,
      part: number)
  }

  /// Which parts the store has (ListParts), after this number.
  func list(_ upload: String, after marker: Int) -> UploadMessage {
    let start = marker > 0 ? "&part-number-marker=\(marker)" : ""
    return message("GET", address("max-parts=1000\(start)&uploadId=\(upload)"))
  }

  /// Makes the object of these parts (CompleteMultipartUpload).
  func complete(_ upload: String, _ parts: S3Parts) -> UploadMessage {
    var fields = own
    for (name, value) in conditions { fields.append(name, value) }
    if checksums == .ofWhole, let checksum = parts.checksum {
      fields.append(Self.checksumField, checksum.base64)
      fields.append(Self.checksumType, Self.wholeObject)
    }
    var message = message("POST", address("uploadId=\(upload)"), fields: fields)
    message.fields.append("Content-Type", "application/xml")
    // A store may not list the checksums of parts that an earlier run has sent.
    message.body = parts.completion(
      hasChecksums: checksums == .ofParts || checksums == .ofWhole && parts.checksum != nil)
    return message
  }

  /// Deletes the parts of an upload (AbortMultipartUpload).
  func abort(_ record: UploadRecord) -> UploadMessage? {
    guard let url = try? ResourceURL(record.address) else { return nil }
    return message(
      "DELETE", S3Place.isOwn(url, of: request.url) ? url.taking(request.url.credentials) : url)
  }

  /// Goes where the store says that the bucket is: at its own hosts, a few times.
  mutating func follow(_ answer: UploadAnswer) -> Bool {
    // The object keeps its name: a page for logins is no other place of it.
    guard relocations < 3, let place = S3Place(answer, from: self),
      place.object.lastName == object.lastName
    else { return false }
    relocations += 1
    (object, region) = (place.object, place.region)
    return true
  }

  /// Sets the clock by the store's.
  /// - Returns: whether it was wrong by more than five minutes.
  @discardableResult
  mutating func setClock(by answer: UploadAnswer) -> Bool {
    let date = answer.head.headers["Date"].flatMap { HTTPDate($0, now: answer.wallSeconds) }
    guard let date else { return false }
    let old = clockOffset
    clockOffset = Double(date.secondsSince1970) - answer.wallSeconds
    return abs(clockOffset - old) > 300
  }

  /// An upload begins, with the checksums that the store takes.
  mutating func beginChecksums() {
    checksums = refusals.contains(.checksums) || request.hasOwnChecksums ? nil : .ofWhole
  }

  /// Sends no more checksums, if the store may have refused those.
  /// - Returns: what says so; nil if the same request would be refused again.
  mutating func dropChecksums(after answer: UploadAnswer) -> UploadCommand? {
    let failure = S3Failure(answer)
    guard checksums != nil, failure.mayRefuseChecksums else { return nil }
    checksums = nil
    refusals.insert(.checksums)
    return .reportRefusal(failure.refusedChecksums)
  }

  /// Sends no more condition of its own, if the store may have refused that.
  /// - Returns: what says so; nil if the same request would be refused again.
  mutating func dropCondition(after answer: UploadAnswer) -> UploadCommand? {
    let failure = S3Failure(answer)
    guard condition != nil, !refusesConditions, request.precondition == .none,
      failure.mayRefuseConditions
    else { return nil }
    refusals.insert(.conditions)
    return .reportRefusal(failure.refusedConditions)
  }

  /// The address of the upload with this id, for its record.
  func address(ofUpload upload: String) -> String {
    address("uploadId=\(upload)").absoluteString
  }

  /// The id in the address of a record, as sent.
  static func upload(of record: UploadRecord) -> String? {
    guard let query = record.address.byteSplit(separator: "?", maxSplits: 1).dropFirst().first,
      let id = query.dropping(bytePrefix: "uploadId=")
    else { return nil }
    return String(id)
  }

  /// What to compute of a part before it is sent.
  var digests: [Checksum.Algorithm] { digestsOfStored + (signsBytes ? [.sha256] : []) }
  /// What to compute of a part that the store has.
  var digestsOfStored: [Checksum.Algorithm] { checksums == nil ? [.md5] : [.md5, .crc32c] }

  func address(_ query: String) -> ResourceURL { object.taking(query: query) }

  /// The caller's fields that every request needs: of temporary keys and of keys for encryption.
  /// The others describe the object.
  private var own: HeaderFields {
    HeaderFields(request.headers.filter { isGeneral($0.name) })
  }

  /// Whether an object has the fields that the caller gives it.
  /// - Parameter asFarAsShown: whether those that no answer to HEAD has may be others.
  func describes(_ head: ResponseHead, asFarAsShown: Bool = false) -> Bool {
    request.headers.allSatisfy { field in
      isGeneral(field.name) || asFarAsShown && isHidden(field.name)
        || (head.headers[field.name] ?? Self.unsaid[field.name.lowercased()])
          .map { $0.isByteEqual(field.value) } ?? false
    }
  }

  /// What stores leave out of an answer.
  private static let unsaid = ["x-amz-storage-class": "STANDARD"]

  /// Whether the field is about who may read the object, or about the request.
  private func isHidden(_ name: String) -> Bool {
    let name = name.lowercased()
    return ["x-amz-acl", "x-amz-tagging", "content-md5"].contains(name)
      || ["x-amz-grant-", "x-amz-checksum-", "x-amz-sdk-"].contains { name.hasBytePrefix($0) }
  }

  private func isGeneral(_ name: String) -> Bool {
    let name = name.lowercased()
    return Self.general.contains(name)
      || name.hasBytePrefix("x-amz-server-side-encryption-customer-")
  }

  private static let general: Set = [
    "user-agent", "x-amz-security-token", "x-amz-request-payer", "x-amz-expected-bucket-owner",
  ]

  func message(
    _ method: String, _ url: ResourceURL, fields: HeaderFields? = nil
  ) -> UploadMessage {
    var message = UploadMessage(method, url, fields: fields ?? own)
    // The address of a record need not be the store's.
    if S3Place.isOwn(url, of: request.url) {
      message.signing = S3Signing(region: region, clockOffset: clockOffset)
    }
    return message
  }

  private func body(
    _ message: UploadMessage, _ range: ByteRange, _ digest: S3Digest, part: Int
  ) -> UploadMessage {
    var message = message
    (message.range, message.part) = (range, part)
    message.fields.remove("Content-MD5")
    if proof.sendsMD5 { message.fields.append("Content-MD5", digest.contentMD5) }
    if checksums != nil, let checksum = digest.crc32c {
      message.fields.append(Self.checksumField, checksum.base64)
    }
    message.signing?.payload = digest.sha256
    return message
  }
}

extension ResourceURL {
  /// The same for every link to the resource, whichever key signed it.
  fileprivate var transferDigest: String {
    SHA256.hash(data: Array(exactResourceText.utf8)).hexDigits
  }
}

extension HeaderFields {
  /// The first field of an object's metadata that is not ASCII. Amazon reads such bytes as Latin-1,
  /// and finds the signature wrong.
  package var nonASCIIMetadata: String? {
    fields.first { field in
      field.name.lowercased().hasBytePrefix("x-amz-meta-")
        && !field.value.utf8.allSatisfy { $0 < 0x80 }
    }?.name
  }
}

/// How a request is signed.
package struct S3Signing: Sendable, Hashable {
  package var region: String
  /// Seconds to add to this machine's clock.
  package var clockOffset: Double = 0
  /// The SHA-256 of the bytes of the file that are sent, in hexadecimal; nil if it is not signed.
  package var payload: String?
}

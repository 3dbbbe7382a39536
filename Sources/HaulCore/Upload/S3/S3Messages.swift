import FoundationEssentials

/// The requests of an upload to an S3 store.
struct S3Messages: Sendable {
  let request: UploadRequest
  /// The address of the object: the given one, or where the store says that its bucket is.
  private(set) var object: ResourceURL
  /// The region that signatures name.
  private(set) var region: String
  /// Seconds to add to this machine's clock, so that it agrees with the store's.
  var clockOffset = 0.0
  /// Which checksums are sent; nil for none.
  var checksums: S3Checksums?
  /// Whether bodies are sent with their MD5, for the store to check. It computes that one beside
  /// the entity tag, so once a tag was the MD5 of its part, the tags are compared instead.
  var sendsMD5 = true
  /// Whether the signature covers the bytes of the file, because somebody on the way may change
  /// them. Over TLS, and on this machine, nobody does.
  private let signsBytes: Bool

  /// - Parameter staysLocal: whether the requests stay on this machine.
  init(request: UploadRequest, staysLocal: Bool = false) {
    (self.request, object) = (request, request.url)
    region = request.region ?? "us-east-1"
    signsBytes = request.url.origin.scheme != "https" && !staysLocal
    checksums = request.hasOwnChecksums ? nil : .ofWhole
  }

  /// The field of an object that names the upload which made it.
  static let markField = "x-amz-meta-haul-upload"
  static let checksumField = "x-amz-checksum-crc32c"
  static let checksumAlgorithm = "x-amz-checksum-algorithm"
  static let checksumType = "x-amz-checksum-type"
  static let algorithm = "CRC32C"
  static let wholeObject = "FULL_OBJECT"

  /// Whether there is an object, and which.
  var head: UploadMessage { message("HEAD", object) }

  /// The fields that are stored with the object. Without a `Content-Type`, stores send
  /// `application/octet-stream` to each reader.
  private var ofObject: HeaderFields {
    var fields = request.fields
    if fields["Content-Type"] == nil, let type = MediaType.ofFile(named: String(object.lastName)) {
      fields.append("Content-Type", type)
    }
    return fields
  }

  /// The whole file as one object (PutObject). It has a mark only where it is looked for.
  func put(_ range: ByteRange, _ digest: S3Digest, mark: String) -> UploadMessage {
    var fields = ofObject
    if request.precondition != .none { fields.append(Self.markField, mark) }
    for (name, value) in condition { fields.append(name, value) }
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
    for (name, value) in condition { fields.append(name, value) }
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

  /// The bucket is somewhere else.
  mutating func move(to place: S3Place) { (object, region) = (place.object, place.region) }

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

  private func address(_ query: String) -> ResourceURL { object.taking(query: query) }

  private var condition: [(String, String)] {
    switch request.precondition {
    case .none: []
    case .absent: [("If-None-Match", "*")]
    case .entityTag(let tag): [("If-Match", tag)]
    }
  }

  /// The caller's fields that every request needs: of temporary keys and of keys for encryption.
  /// The others describe the object.
  private var own: HeaderFields {
    HeaderFields(
      request.fields.fields.filter { field in
        let name = field.name.lowercased()
        return Self.general.contains(name)
          || name.hasBytePrefix("x-amz-server-side-encryption-customer-")
      })
  }

  private static let general: Set = [
    "user-agent", "x-amz-security-token", "x-amz-request-payer", "x-amz-expected-bucket-owner",
  ]

  private func message(
    _ method: String, _ url: ResourceURL, fields: HeaderFields? = nil
  ) -> UploadMessage {
    var message = UploadMessage(method, url, fields: fields ?? own)
    message.signing = S3Signing(region: region, clockOffset: clockOffset)
    return message
  }

  private func body(
    _ message: UploadMessage, _ range: ByteRange, _ digest: S3Digest, part: Int
  ) -> UploadMessage {
    var message = message
    (message.range, message.part) = (range, part)
    message.fields.remove("Content-MD5")
    if sendsMD5 { message.fields.append("Content-MD5", digest.contentMD5) }
    if checksums != nil, let checksum = digest.crc32c {
      message.fields.append(Self.checksumField, checksum.base64)
    }
    message.signing?.payload = digest.sha256
    return message
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
  package var clockOffset: Double
  /// The SHA-256 of the bytes of the file that are sent, in hexadecimal; nil if it is not signed.
  package var payload: String?

  package init(region: String, clockOffset: Double = 0, payload: String? = nil) {
    self.region = region
    self.clockOffset = clockOffset
    self.payload = payload
  }
}

/// The digests of a part, as requests and answers have them.
struct S3Digest: Hashable, Sendable {
  let contentMD5: String
  /// In hexadecimal, as in most entity tags of parts.
  let md5: String
  let sha256: String?
  let crc32c: Checksum?

  /// Nil without an MD5.
  init?(_ checksums: [Checksum]) {
    guard let md5 = checksums.first(where: { $0.algorithm == .md5 }) else { return nil }
    contentMD5 = Data(md5.bytes).base64EncodedString()
    self.md5 = md5.hex
    sha256 = checksums.first { $0.algorithm == .sha256 }?.hex
    crc32c = checksums.first { $0.algorithm == .crc32c }
  }

  /// Whether the entity tag is that of the same bytes.
  func matches(_ tag: String) -> Bool { Self.bare(tag) == md5 }

  /// Whether the entity tag is the MD5 of other bytes, if it is an MD5.
  func contradicts(_ tag: String) -> Bool {
    !matches(tag) && Checksum("md5=\(Self.bare(tag))") != nil
  }

  /// An entity tag without its quotes, in lower case.
  static func bare(_ tag: String) -> String { tag.lowercased().replacingBytes("\"", with: "") }
}

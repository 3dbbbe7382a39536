import HaulCore

extension SendRequest {
  /// The request for a message of an upload, signed if it must be.
  /// - Parameters:
  ///   - body: the bytes of the source that it sends; nil for none.
  ///   - length: of that body, in bytes; nil if it is not known.
  ///   - upload: whose message it is. What it says of its own origin counts for no other.
  ///   - keys: those of its source, if its address has none.
  ///   - wallSeconds: seconds since 1970, for the signature.
  init(
    _ message: UploadMessage, body: Body?, length: Int64?, of upload: UploadRequest,
    _ keys: S3Credentials?, at wallSeconds: Double
  ) {
    self.init(
      message.method, message.url, headers: message.fields,
      body: body ?? message.body.map { Bytes($0) },
      length: body == nil ? Int64(message.body?.count ?? 0) : length)
    needsBody = upload.method.uploadProtocol.needsReplyBody
    isOfClient = upload.roots != nil
    if message.url.origin == upload.url.origin { allowInsecure = upload.allowInsecure }
    // Also at the same origin: its name may lead elsewhere by now.
    if message.url != upload.url { namedBy = upload.url.origin }
    guard let signing = message.signing else { return }
    // The user information of the address is the access key.
    url = message.url.taking(nil)
    let own = message.url.credentials.map {
      S3Credentials(accessKeyID: $0.user, secretAccessKey: $0.password)
    }
    guard let key = own ?? keys else { return }
    let signer = RequestSigner(
      key, region: signing.region, wallSeconds: wallSeconds + signing.clockOffset)
    let payload =
      signing.payload
      ?? (message.range == nil
        ? RequestSigner.hash(message.body ?? []) : RequestSigner.unsignedPayload)
    headers = signer.sign(message.method, url, message.fields, payload: payload)
  }
}

/// A body in memory, as one chunk.
struct Bytes: AsyncSequence, HeldBody {
  typealias Element = any ByteChunk
  typealias Failure = any Error

  let bytes: [UInt8]
  private let whenTaken: (@Sendable () -> Void)?

  /// - Parameter whenTaken: called when they are sent, perhaps again.
  init(_ bytes: [UInt8], whenTaken: (@Sendable () -> Void)? = nil) {
    (self.bytes, self.whenTaken) = (bytes, whenTaken)
  }

  func wasTaken() { whenTaken?() }

  struct AsyncIterator: ChunkIterator {
    var bytes: [UInt8]?

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> (any ByteChunk)? {
      defer { bytes = nil }
      return bytes.flatMap { $0.isEmpty ? nil : $0 }
    }

  }

  func makeAsyncIterator() -> AsyncIterator {
    wasTaken()
    return AsyncIterator(bytes: bytes)
  }
}

/// Decides about one upload. It takes events and returns commands, and has no side effects.
package protocol UploadMachine: Sendable {
  /// Decides when another attempt is made, and has the time and the randomness of the event.
  var attempts: UploadAttempts { get set }
  /// What its server has refused, so that it was left out.
  var refusals: StoreRefusals { get }

  /// Handles one event, and returns what to do, in order.
  mutating func take(_ event: UploadEvent) -> [UploadCommand]
}

extension UploadMachine {
  package var refusals: StoreRefusals { [] }

  /// Handles one event, and returns what to do, in order.
  /// - Parameter hostHealth: of a host that did not answer.
  package mutating func handle(
    _ event: UploadEvent, at now: Instant, hostHealth: HostHealth? = nil,
    using rng: inout some RandomNumberGenerator
  ) -> [UploadCommand] {
    attempts.begin(at: now, hostHealth: hostHealth, using: &rng)
    if case .streamSent = event { attempts.isSpent = true }
    return take(event)
  }
}

package enum UploadEvent: Sendable {
  /// So many connections may be used. With what an earlier run stored.
  case start(UploadRecord?, connections: Int = 1)
  indirect case answered(UploadAnswer)
  /// `sent`: the bytes of the body that the connection took.
  case failed(TransferError, sent: Int64, part: Int = 0)
  /// The digests of a part of the file, in the order asked for; or why it cannot be read.
  case digested(part: Int, Result<[Checksum], TransferError>)
  /// What `store` asked for is on disk; or why it is not.
  case stored(TransferError?)
  /// The file was compared with what it was; the error says what differs.
  case sourceChecked(TransferError?)
  /// What of the stream can be sent now.
  case read(UploadExtent)
  /// A body that is the stream has ended, and its first bytes are no longer held; with its length,
  /// if it was sent to its end.
  case streamSent(length: Int64?)
  /// So many connections may be used now.
  case connected(Int)
}

package enum UploadCommand: Sendable, Hashable {
  case send(UploadMessage)
  /// Compute digests of these bytes of the file.
  case digest(ByteRange, part: Int, [Checksum.Algorithm])
  /// Store what a later run needs, before anything else is sent.
  case storeRecord(UploadRecord)
  /// Delete what is stored.
  case deleteRecord
  /// The server has so many bytes of the file.
  case reportAcknowledged(Int64)
  /// The server says that what it has made has the checksum of the file.
  case reportVerified(Checksum)
  /// The server refuses something that the upload goes on without, at once.
  case reportRefusal(TransferError)
  /// Another run of the transfer has published its file, which has this length; nil if that is not
  /// known.
  case reportAdoption(length: Int64?)
  /// The file that the server has stays, and nothing is sent.
  case reportPresent(PresentFile)
  /// What the server said when it took the file.
  case reportReply(UploadReply)
  case checkSource
  /// Asks the server of a remote source whether it has this version still; `sourceChecked` says.
  case checkVersion
  /// Release what the server has of the stream, by the last `reportAcknowledged`, and read until so
  /// many bytes are held; fewer only at its end.
  case read(Int)
  /// Take or release connections, until there are so many, or as many as are granted.
  case connect(Int)
  /// Give the slot back, and `start` again after the delay.
  case retry(after: Duration, attempt: Int, TransferError)
  case finish(UploadEnd)
}

package enum UploadEnd: Sendable, Hashable {
  case completed
  case failed(TransferError)
}

/// The answer to one request of an upload.
package struct UploadAnswer: Sendable {
  package let head: ResponseHead
  /// The start of its body.
  package let body: [UInt8]
  /// Whether that is all of it.
  package let isWhole: Bool
  /// The bytes of the request's body that the connection took.
  package let sent: Int64
  /// The part that the request sent; 0 if it sent none.
  package let part: Int
  /// Seconds since 1970, for dates in `Retry-After`.
  package let wallSeconds: Double

  package init(
    _ head: ResponseHead, body: [UInt8] = [], isWhole: Bool = true, sent: Int64, part: Int = 0,
    wallSeconds: Double
  ) {
    self.head = head
    self.body = body
    self.isWhole = isWhole
    self.sent = sent
    self.part = part
    self.wallSeconds = wallSeconds
  }
}

/// One request of an upload. Its body is a range of the file, or a short text.
package struct UploadMessage: Sendable, Hashable {
  package var method: String
  package var url: ResourceURL
  /// The caller's fields, and those of the protocol.
  package var fields: HeaderFields
  /// The bytes of the file to send; nil for none.
  package var range: ByteRange?
  /// The body, if it is not of the file; nil for none.
  package var body: [UInt8]?
  /// The number of the part that it sends. Requests of different parts may be open at once.
  package var part = 0
  /// How it is signed; nil if it is not.
  package var signing: S3Signing?
  /// The body of a form; nil for none.
  package var pieces: [UploadPiece]?
  /// Whether the body is the whole stream, whose length is not known.
  package var sendsStream = false
  /// Whether the upload can go on without an answer, which is then not waited for as long.
  package var isOptional = false
  /// Whether it only makes the upload to which the bytes go later.
  package var isCreation = false

  package init(
    _ method: String, _ url: ResourceURL, fields: HeaderFields, range: ByteRange? = nil
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.range = range
  }

  /// Whether the server may need minutes to answer: it checks, copies or joins what it was sent.
  package var takesLong: Bool {
    range != nil && !isCreation || pieces != nil || body != nil || sendsStream || method == "MOVE"
  }
}

/// What a later run needs to continue an upload. The address is a secret: a client needs nothing
/// else to write.
package struct UploadRecord: Sendable, Hashable, Codable {
  /// Where the server takes the bytes; the first part of them, if it joins several.
  package var address: String
  /// Which version of the file they are of.
  package var source: SourceIdentity
  /// What an upload to an S3 store in parts needs.
  package var s3: S3?

  package struct S3: Sendable, Hashable, Codable {
    /// The length of every part but the last, in bytes.
    package var partSize: Int64
    /// A text in the object's metadata, by which the upload knows its object.
    package var mark: String
    /// Which checksums the store expects; nil for none.
    package var checksums: S3Checksums?
    /// What the store must have for the object to be made; nil for anything.
    package var condition: UploadCondition?
    /// When the upload was about to begin, in seconds since 1970, as long as its address is not
    /// known; nil once it is.
    package var begun: Double?

    package init(
      partSize: Int64, mark: String, checksums: S3Checksums? = nil,
      condition: UploadCondition? = nil
    ) {
      self.partSize = partSize
      self.mark = mark
      self.checksums = checksums
      self.condition = condition
    }
  }

  /// What an upload by tus in parts needs.
  package var tus: Tus?

  package struct Tus: Sendable, Hashable, Codable {
    package struct Part: Sendable, Hashable, Codable {
      package var address: String
      /// Its bytes of the file.
      package var range: ByteRange

      package init(address: String, range: ByteRange) {
        (self.address, self.range) = (address, range)
      }
    }

    package enum Stage: String, Sendable, Hashable, Codable {
      case sending
      /// The server was told to join the parts, or is about to be.
      case joining
      /// The server has joined the parts; the record's address is that of the file.
      case joined
    }

    /// In the order of the file; none once they are joined.
    package var parts: [Part]
    package var stage: Stage

    package init(parts: [Part], stage: Stage) { (self.parts, self.stage) = (parts, stage) }
  }

  /// The version of the protocol, if it has several.
  package var version: Int?

  package init(
    address: String, source: SourceIdentity, s3: S3? = nil, tus: Tus? = nil, version: Int? = nil
  ) {
    self.address = address
    self.source = source
    self.s3 = s3
    self.tus = tus
    self.version = version
  }
}

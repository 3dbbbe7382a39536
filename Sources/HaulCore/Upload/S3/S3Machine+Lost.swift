/// Uploads that the store has begun without this machine knowing it: the answer was lost, or the
/// process died before it was stored. They cost until somebody deletes them.
extension S3Machine {
  /// Stores that an upload is about to begin.
  mutating func announce(at wallSeconds: Double) -> [UploadCommand] {
    state = .announcing
    begun = wallSeconds
    var layout = UploadRecord.S3(partSize: parts.partSize, mark: mark)
    layout.begun = wallSeconds
    return [.storeRecord(UploadRecord(address: "", source: source, s3: layout))]
  }

  mutating func create() -> [UploadCommand] {
    state = .creating
    return [.send(messages.create(mark: mark))]
  }

  /// The store may have begun an upload. Another attempt looks for it, and so does another run; but
  /// no other run continues a stream.
  mutating func creationFailed(_ error: TransferError) -> [UploadCommand] {
    let commands = failed(error)
    guard case .finish(.failed(let last))? = commands.last, parts.isStream, error.hadConnection,
      let begun
    else { return commands }
    errorAfterSearch = last
    return search(since: begun)
  }

  /// The answer is cut off, or does not come: once more, as a lost upload costs.
  /// - Returns: nil if that was tried.
  mutating func searchAgain() -> [UploadCommand]? {
    guard !hasSearchedAgain else { return nil }
    hasSearchedAgain = true
    switch state {
    case .searching(let start): return search(since: start)
    case .examining(let uploads): return examine(uploads)
    default: return nil
    }
  }

  /// What the store does not say stays there.
  mutating func endSearch() -> [UploadCommand] { errorAfterSearch.map { end($0) } ?? begin() }

  /// Asks which uploads of the object there are. If the store does not say it, they stay.
  mutating func search(since start: Double) -> [UploadCommand] {
    begun = nil
    guard var message = messages.uploads else { return endSearch() }
    message.isOptional = true
    state = .searching(since: start)
    return [.send(message)]
  }

  mutating func searched(_ answer: UploadAnswer, since start: Double) -> [UploadCommand] {
    guard (200..<300).contains(answer.head.status) else { return endSearch() }
    guard answer.isWhole, let list = S3UploadList(answer.body) else {
      return searchAgain() ?? endSearch()
    }
    // By the clock of the store, which names the times, and may be a little wrong.
    let date = answer.head.headers["Date"].flatMap { HTTPDate($0, now: answer.wallSeconds) }
    let offset = date.map { Double($0.secondsSince1970) - answer.wallSeconds } ?? 0
    let since = start + offset - Self.tolerance
    return examine(
      list.uploads.filter { $0.key.isByteEqual(messages.key) && $0.begun >= since }.map(\.id))
  }

  /// In seconds.
  private static let tolerance: Double = 60

  /// Asks for the parts of the first upload. One that has any is that of another run.
  mutating func examine(_ uploads: [String]) -> [UploadCommand] {
    guard let first = uploads.first else { return endSearch() }
    var message = messages.list(PercentCoding.component(first), after: 0)
    message.isOptional = true
    state = .examining(uploads)
    return [.send(message)]
  }

  mutating func examined(_ answer: UploadAnswer, _ uploads: [String]) -> [UploadCommand] {
    let rest = Array(uploads.dropFirst())
    let isSuccess = (200..<300).contains(answer.head.status)
    if isSuccess, answer.document == nil, let commands = searchAgain() { return commands }
    guard isSuccess, let first = uploads.first,
      S3PartList(answer.body)?.parts.isEmpty == true
    else { return examine(rest) }
    var message = messages.message(
      "DELETE", messages.address("uploadId=\(PercentCoding.component(first))"))
    message.isOptional = true
    state = .discarding(rest)
    return [.send(message)]
  }
}

extension S3Messages {
  /// Which uploads of the object have begun (ListMultipartUploads); nil for an address without a
  /// bucket. At a host with an unusual name, the bucket may be looked for in the wrong place.
  var uploads: UploadMessage? {
    let isInHost = S3Place.hasBucketInHost(object)
    let bucket = isInHost ? "" : String(object.path.dropFirst().prefix(beforeAnyOf: "/"))
    guard isInHost || !bucket.isEmpty, !key.isEmpty else { return nil }
    let query = "max-uploads=1000&prefix=\(PercentCoding.component(key))&uploads="
    return S3Place.address("/\(bucket)", beside: object).map { bucket in
      message("GET", bucket.taking(query: query))
    }
  }

  /// The name of the object in its bucket, not encoded.
  var key: String {
    let path = object.path.dropFirst()
    let rest =
      S3Place.hasBucketInHost(object)
      ? path : path.dropFirst(path.prefix(beforeAnyOf: "/").unicodeScalars.count + 1)
    return String(decoding: PercentCoding.decoded(rest), as: UTF8.self)
  }
}

/// One page of the uploads of a bucket (ListMultipartUploads).
struct S3UploadList: Hashable, Sendable {
  struct Upload: Hashable, Sendable {
    let key: String
    let id: String
    /// Seconds since 1970.
    let begun: Double
  }

  let uploads: [Upload]

  /// Nil for a document that is not such a page.
  init?(_ body: [UInt8]) {
    guard let root = XMLElement(document: body), root.isAnswer("ListMultipartUploads") else {
      return nil
    }
    uploads = root.children.filter { $0.name == "Upload" }.compactMap { element in
      guard let key = element["Key"], let id = element["UploadId"],
        let begun = element["Initiated"].flatMap(S3Keys.seconds(of:))
      else { return nil }
      return Upload(key: key, id: id, begun: begun)
    }
  }
}

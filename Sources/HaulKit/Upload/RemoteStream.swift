import HaulCore
import HaulFiles

/// The bytes of a remote resource that cannot be read in ranges, from its beginning to its end. It
/// is requested when the first bytes are asked for.
struct RemoteStream: AsyncSequence, Sendable {
  typealias Element = [UInt8]
  typealias Failure = any Error

  let request: DownloadRequest
  /// Where it is sent.
  let target: ResourceURL
  let engine: Engine
  let watch: ReadingWatch
  /// Gets the answer whose body they are.
  let noteHead: @Sendable (ResponseHead) -> Void

  /// The bytes, read at most once.
  static func open(
    _ request: DownloadRequest, for target: ResourceURL, _ engine: Engine,
    noteHead: @escaping @Sendable (ResponseHead) -> Void
  ) -> UploadStream {
    let watch = ReadingWatch(engine)
    watch.timer.end()
    let stream = UploadStream(
      RemoteStream(
        request: request, target: target, engine: engine, watch: watch, noteHead: noteHead))
    watch.whenStalled { [weak stream] in stream?.close() }
    return stream
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    let source: RemoteStream
    private var body: (any AsyncIteratorProtocol<any ByteChunk, any Error>)?
    /// With the digest that the server states.
    private var request: DownloadRequest
    private var digest: IncrementalDigest
    private var length: Int64 = 0
    /// Until the first bytes have come.
    private var page: MisplacedPage?

    init(_ source: RemoteStream) {
      self.source = source
      request = source.request
      digest = IncrementalDigest([])
    }

    mutating func next() async throws -> [UInt8]? { try await next(isolation: nil) }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
      do {
        return try await read(isolation: actor)
      } catch {
        source.watch.close()
        if source.watch.hasStalled { throw source.engine.idleTimeoutError().ofSource }
        if error is CancellationError { throw error }
        throw Engine.sourceError(error)
      }
    }

    private mutating func read(
      isolation actor: isolated (any Actor)?
    ) async throws -> [UInt8]? {
      let (engine, timer) = (source.engine, source.watch.timer)
      timer.begin(at: engine.clock.now)
      // While the store takes the bytes, nothing is read.
      defer { timer.end() }
      var body: any AsyncIteratorProtocol<any ByteChunk, any Error>
      if let open = self.body {
        body = open
      } else {
        engine.heartbeat.add(source.watch)
        let response = try await source.open()
        request = request.requiring(response.head.trustedDigest)
        page = source.request.misplacedPage(response.head, for: source.target)
        digest = IncrementalDigest(request.checksums.map(\.algorithm))
        body = response.body.makeAsyncIterator()
      }
      let chunk = try await body.next(isolation: actor)
      self.body = body
      guard let chunk else {
        source.watch.close()
        try request.compare(digest.checksums)
        return nil
      }
      let bytes = chunk as? [UInt8] ?? chunk.withBytes { Array($0) }
      if let error = page?.error(Array(bytes.prefix(MisplacedPage.examinedBytes))) {
        throw error.ofSource
      }
      if !bytes.isEmpty { page = nil }
      length += Int64(bytes.count)
      try request.checkSize(length)
      bytes.withUnsafeBytes { digest.update($0) }
      return bytes
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

  private func open() async throws -> FetchResponse {
    let fetch = RemoteVersion.request(request)
    let response = try await engine.fetchSource(fetch, watch.timer)
    switch ResponseJudge(wallSeconds: engine.clock.wallSeconds).verdict(
      on: response.head, to: fetch)
    {
    case .whole(let body):
      guard body.framing != .close || !request.checksums.isEmpty else {
        throw TransferError.source(
          .protocolViolation,
          "does not say where its end is",
          advice: "give a checksum, or save it to a file first")
      }
    case .empty: break
    case .failure(let error): throw error
    case .range, .unusableRange, .unsatisfiable:
      throw TransferError.source(.protocolViolation, "sent a part in place of everything")
    }
    noteHead(response.head)
    return response
  }
}

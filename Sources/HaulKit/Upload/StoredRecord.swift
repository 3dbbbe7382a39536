import HaulCore

/// The record of one upload in a store, where a run on another machine finds it.
///
/// It has no lock: of two runs that continue with the same parts, one makes the object, and the
/// other one adopts it.
struct StoredRecord: Sendable {
  private let messages: S3RecordMessages
  private let engine: Engine

  /// Nil if records are not in a store.
  /// - Throws: `bad-url`.
  init?(of upload: UploadRequest, _ engine: Engine) throws(TransferError) {
    guard let place = engine.recordPlace else { return nil }
    messages = try S3RecordMessages(of: upload, beside: place)
    self.engine = engine
  }

  /// - Throws: why the store does not say whether there is one.
  func read() async throws(TransferError) -> UploadRecord? { try await send(messages.read) }

  func store(_ record: UploadRecord) async throws(TransferError) {
    _ = try await send(try messages.write(record))
  }

  func remove() async {
    // One that stays is of an upload that the store no longer has; the next run finds that out.
    _ = try? await send(messages.delete)
  }

  private func send(_ message: UploadMessage) async throws(TransferError) -> UploadRecord? {
    try messages.record(in: try await engine.answer(to: message, of: messages.request))
  }
}

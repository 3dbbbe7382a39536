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

  /// - Parameter isDamaged: whether there is one that cannot be read.
  /// - Throws: why the store does not say whether there is one.
  func read(isDamaged: inout Bool) async throws(TransferError) -> UploadRecord? {
    try messages.record(in: try await answer(to: messages.read), isDamaged: &isDamaged)
  }

  func store(_ record: UploadRecord) async throws(TransferError) {
    try messages.check(try await answer(to: try messages.write(record)))
  }

  func remove() async {
    // One that stays is of an upload that the store no longer has; the next run finds that out.
    _ = try? await answer(to: messages.delete)
  }

  private func answer(to message: UploadMessage) async throws(TransferError) -> UploadAnswer {
    try await engine.answer(to: message, of: messages.request)
  }
}

extension TransferError {
  static let damagedRecord = TransferError(
    .io, "the record of an earlier run cannot be read",
    advice: "the upload begins anew; what it had sent may stay on the server")
}

/// A cancelled upload whose parts an S3 store still has, because it could not be asked to delete
/// them. It is asked again.
public struct PendingAbort: Sendable, Hashable, Codable {
  /// The transfer that was cancelled. It may have left the list.
  public let id: TransferID
  /// Its request, with the access key.
  package let request: UploadRequest

  package init(id: TransferID, request: UploadRequest) {
    (self.id, self.request) = (id, request)
  }
}

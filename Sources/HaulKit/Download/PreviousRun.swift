import HaulCore
import HaulFiles

/// What earlier runs of a transfer left on disk, as far as it is known.
struct PreviousRun: Sendable {
  /// Where bytes are, perhaps of another address.
  var location: FileLocation?
  /// The path of the file that one of them completed: it may be replaced if it is unchanged.
  var path: String?

  /// Whether a part file is empty, or holds bytes of the address or of this transfer. Bytes that a
  /// client over TCP asked for are not the owner's.
  func owns(
    _ part: PartFile, _ name: FileName, in directory: any DiskDirectory, of request: DownloadRequest
  ) -> Bool {
    guard let head = part.recovery.head else { return true }
    guard head.isOfClient == request.isOfClient else { return false }
    return head.matches(request.url)
      || (location?.name == name.text && location?.directory == directory.path)
  }
}

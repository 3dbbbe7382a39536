import FoundationEssentials
import HaulCore
import HaulLibC

/// Where a manifest of a store is fetched to. As long as its run lives, its lock is held: what has
/// no lock was left by a run that was killed.
final class ManifestCopyPlace {
  /// The file that is fetched.
  let path: String
  private let descriptor: Int32

  private static let lockSuffix = ".lock"
  private static let mostAttempts = 100

  /// - Parameter prefix: what the name begins with: a word and a hyphen.
  init(in directory: String, _ prefix: String) throws(TransferError) {
    for _ in 0..<Self.mostAttempts {
      let path = directory.appendingPath(prefix + UInt64.random(in: .min ... .max).hexDigits)
      let lock = path + Self.lockSuffix
      let descriptor = open(lock, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard descriptor >= 0 else { throw ManifestFile.error(lock, "cannot be made", errno) }
      var status = stat()
      // Another run may just have taken it for one that was left.
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &status) == 0,
        status.st_nlink > 0
      {
        (self.path, self.descriptor) = (path, descriptor)
        return
      }
      _ = close(descriptor)  // it has nothing
    }
    throw TransferError(.inUse, "the manifest cannot be locked", isRetryable: true)
  }

  /// What was fetched has another name by now, or is of no use.
  deinit {
    Self.remove(path)
    _ = close(descriptor)  // it has nothing
  }

  /// Deletes what the runs that were killed have left here.
  static func removeAbandoned(in directory: String) {
    let found = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    let names = found.compactMap { name in
      suffixes.lazy.compactMap { name.dropping(byteSuffix: $0) }.first.map(String.init)
    }
    // A copy has a third word: its lines are taken up.
    for name in Set(names) where name.byteSplit(separator: "-").count == 2 {
      let path = directory.appendingPath(name)
      let descriptor = open(path + lockSuffix, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
      guard descriptor >= 0 else {
        if errno == ENOENT { remove(path) }
        continue
      }
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { remove(path) }
      _ = close(descriptor)  // it has nothing
    }
  }

  /// The last one is that of the fetched file itself.
  private static let suffixes = [FileName.partSuffix, FileName.journalSuffix, lockSuffix, ""]

  /// The lock goes last. One that stays is tried again by the next run.
  private static func remove(_ path: String) {
    for suffix in ["", FileName.partSuffix, FileName.journalSuffix, lockSuffix] {
      _ = unlink(path + suffix)
    }
  }
}

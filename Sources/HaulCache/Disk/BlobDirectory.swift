package import FoundationEssentials
package import HaulCore
import HaulFiles
import HaulLibC

/// The blob files of a cache. A file appears under its name only when it is whole; it is not
/// synced, because its checksums show what a power cut has damaged.
package struct BlobDirectory: Sendable {
  package let path: String

  package init(path: String) { self.path = path }

  private static let temporaryPrefix = "tmp-"
  private static let suffix = ".blob"

  /// Creates it, for this user alone.
  package func create() throws(TransferError) {
    do throws(DiskError) {
      try POSIXDisk.makeOwnDirectory(path)
    } catch {
      throw TransferError(error, while: "create the cache directory")
    }
  }

  /// A new name. It never was another file's.
  package static func name(_ head: BlobHead) -> String {
    let random = String(UInt64.random(in: .min ... .max), radix: 36)
    return "\(head.resource.prefix(32))-\(head.selection.prefix(8))-\(random)\(suffix)"
  }

  package func filePath(_ name: String) -> String { "\(path)/\(name)" }

  /// Removes a file, if it is there. A directory is none of ours, and stays.
  package func remove(_ name: String) throws(TransferError) {
    guard unlink(filePath(name)) != 0 else { return }
    let error = errno
    var status = stat()
    if lstat(filePath(name), &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return }
    errno = error
    try check(error == ENOENT, "unlink", "remove a file of the cache")
  }

  /// The length of a file and its head; nil if it is not there or not a blob.
  package func head(_ name: String) throws(TransferError) -> (length: Int64, head: BlobHead)? {
    guard let start = try read(name, upTo: BlobFormat.prefixLength),
      let prefix = BlobFormat.prefix(start),
      let bytes = try read(name, upTo: BlobFormat.prefixLength + prefix.headLength),
      let head = BlobFormat.head(Data(bytes.dropFirst(BlobFormat.prefixLength)), prefix),
      try length(name) == Int64(prefix.fileLength)
    else { return nil }
    return (Int64(prefix.fileLength), head)
  }

  package func length(_ name: String) throws(TransferError) -> Int64? {
    var status = stat()
    let found = lstat(filePath(name), &status) == 0
    try check(found || errno == ENOENT, "lstat", "read a file of the cache")
    return found ? Int64(status.st_size) : nil
  }

  /// The names of all blobs, and of unfinished files.
  package func names() throws(TransferError) -> (blobs: [String], temporary: [String]) {
    guard let directory = opendir(path) else {
      throw TransferError(DiskError("opendir", errno), while: "read the cache directory")
    }
    defer { closedir(directory) }
    var (blobs, temporary): ([String], [String]) = ([], [])
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name.hasBytePrefix(Self.temporaryPrefix) {
        temporary.append(name)
      } else if name.hasByteSuffix(Self.suffix) {
        blobs.append(name)
      }
    }
    return (blobs, temporary)
  }
}

extension BlobDirectory {
  /// Writes a file under a temporary name. The lock on it tells others that its writer lives.
  package func write(_ start: Data, _ body: Data) throws(TransferError) -> TemporaryBlob {
    var created: TemporaryBlob?
    // Another process may remove a file that is not locked yet; then the next one is tried.
    for _ in 0..<100 where created == nil { created = try makeTemporary() }
    guard let blob = created else {
      throw TransferError(DiskError("flock", EAGAIN), while: "write to the cache")
    }
    for part in [start, body] {
      let isWritten = part.withUnsafeBytes { writeAll($0, to: blob.file) }
      try check(isWritten, "write", "write to the cache")
    }
    return blob
  }

  /// A new locked file; nil if it was removed before it was locked.
  private func makeTemporary() throws(TransferError) -> TemporaryBlob? {
    let name = Self.temporaryPrefix + String(UInt64.random(in: .min ... .max), radix: 36)
    let file = open(filePath(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    try check(file >= 0, "open", "write to the cache")
    let blob = TemporaryBlob(path: filePath(name), file: file)
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      try check(errno == EWOULDBLOCK, "flock", "write to the cache")
      return nil
    }
    var status = stat()
    try check(fstat(file, &status) == 0, "fstat", "write to the cache")
    return status.st_nlink > 0 ? blob : nil
  }

  /// The first bytes of a file, all by default; nil if there is none that can be read.
  package func read(_ name: String, upTo limit: Int = .max) throws(TransferError) -> Data? {
    let file = open(filePath(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else {
      // A link, a socket, or a file that somebody has locked away.
      let isNoFile = [ENOENT, ELOOP, ENXIO, EACCES].contains(errno)
      try check(isNoFile, "open", "read a file of the cache")
      return nil
    }
    defer { close(file) }
    guard RegularFile.isOpen(file) else { return nil }
    var status = stat()
    try check(fstat(file, &status) == 0, "fstat", "read a file of the cache")
    var bytes = Data(count: min(limit, Int(status.st_size)))
    let length = bytes.withUnsafeMutableBytes { readAll(file, into: $0) }
    try check(length >= 0, "read", "read a file of the cache")
    return length == bytes.count ? bytes : Data(bytes.prefix(length))
  }

  /// Removes unfinished files whose writers have ended.
  package func removeAbandoned(_ names: [String]) throws(TransferError) {
    for name in names {
      let file = open(filePath(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      guard file >= 0 else {
        if errno == ELOOP || errno == ENXIO { try remove(name) }
        continue
      }
      defer { close(file) }
      if flock(file, LOCK_EX | LOCK_NB) == 0 { try remove(name) }
    }
  }
}

/// A file that is whole but has no name yet. It is removed unless it is published.
package final class TemporaryBlob: Sendable {
  private let path: String
  fileprivate let file: Int32

  fileprivate init(path: String, file: Int32) { (self.path, self.file) = (path, file) }

  /// Gives it its name, at once or not at all.
  package func publish(as name: String, in directory: BlobDirectory) throws(TransferError) {
    try check(
      rename(path, directory.filePath(name)) == 0, "rename", "write to the cache")
  }

  deinit {
    // After publishing there is nothing under this name.
    _ = unlink(path)
    _ = close(file)
  }
}

/// Throws the error number of the last call unless it succeeded.
func check(_ succeeded: Bool, _ call: String, _ action: String) throws(TransferError) {
  if !succeeded { throw TransferError(DiskError(call, errno), while: action) }
}

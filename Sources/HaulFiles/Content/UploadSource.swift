package import HaulCore
import HaulLibC

/// A file to upload. It stays open, so that all its bytes are of one file.
package final class UploadSource: Sendable {
  /// What it was when it was opened.
  package let identity: SourceIdentity
  private let opened: FileStatus
  /// When its bytes, its date, its owner or its name changed last, in seconds since 1970, as far as
  /// the file system says it.
  package var changed: Double { max(opened.modified, opened.changed) }
  /// Nil for a directory, which has no bytes to read.
  private let file: (any DiskFile)?
  private let directory: any DiskDirectory
  private let name: String
  private let path: String

  /// Opens the file, following symbolic links.
  /// - Parameters:
  ///   - isDirectory: whether it must be a directory; its content is not read.
  ///   - expected: which file it must be; nil for any.
  /// - Throws: `source-unreadable`, `not-a-regular-file`, `source-changed`.
  package init(
    _ path: String, isDirectory: Bool = false, expected: FileIdentity? = nil, on disk: any Disk
  ) throws(TransferError) {
    self.path = path
    let found = try Self.mappingSource(
      path, Self.find(isDirectory ? path.withoutLastSlashes : path, on: disk))
    try Self.check(found.status, expected, path)
    if isDirectory {
      guard found.status.kind == .directory else {
        throw TransferError(.notARegularFile, "\(Printable.text(path)) is no directory")
      }
      var status = found.status
      status.size = 0
      (directory, name, file) = (found.directory, found.name, nil)
      (opened, identity) = (status, SourceIdentity(status))
      return
    }
    guard found.status.kind == .regular else {
      let kind = found.status.kind == .directory ? "a directory" : "a device, a socket or a FIFO"
      throw TransferError(
        .notARegularFile, "\(Printable.text(path)) is \(kind)", advice: "give a file")
    }
    (directory, name) = (found.directory, found.name)
    let file = try Self.mappingSource(path, directory.open(name, writing: false))
    self.file = file
    do throws(DiskError) {
      opened = try file.status()
      identity = SourceIdentity(opened)
    } catch {
      file.close()
      throw Self.unreadable(path, error)
    }
    do throws(TransferError) {
      try Self.check(opened, expected, path)
      try checkLength()
    } catch {
      file.close()
      throw error
    }
  }

  private static func check(
    _ status: FileStatus, _ expected: FileIdentity?, _ path: String
  ) throws(TransferError) {
    guard let expected, FileIdentity(status) != expected else { return }
    throw TransferError(
      .sourceChanged,
      "\(Printable.text(path)) was replaced after its directory was listed", advice: "put it again")
  }

  /// Files of the kernel (`/proc`, `/sys`) have other bytes than their length says.
  private func checkLength() throws(TransferError) {
    guard let file else { return }
    // The last byte, and one that must not be there.
    let start = max(0, opened.size - 1)
    let expected = Int(min(1, opened.size))
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2, alignment: 1)
    defer { buffer.deallocate() }
    let found = try Self.mappingSource(path, file.read(into: buffer, at: start))
    guard found != expected else { return }
    throw TransferError(
      .sourceUnreadable,
      "\(Printable.text(path)) has \(found > expected ? "more" : "fewer") bytes than its length, "
        + "\(opened.size), says",
      advice: "send it by standard input, or copy it first")
  }

  /// Closes the file.
  package func close() { file?.close() }

  /// The bytes at this offset: as many as asked for, because the file is known to have them.
  /// - Throws: `source-changed` if it has become shorter, `source-unreadable`.
  package func read(_ count: Int, at offset: Int64) throws(TransferError) -> [UInt8] {
    do {
      return try [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
        try fill(UnsafeMutableRawBufferPointer(buffer), at: offset)
        initialized = count
      }
    } catch let error as TransferError {
      throw error
    } catch {
      throw TransferError(.internal, "\(type(of: error))")
    }
  }

  /// Adds so many bytes to each message of the digest, from these offsets; a multiple of
  /// `ParallelDigest.block`.
  /// - Throws: `source-changed` if the file has become shorter, `source-unreadable`.
  package func add(
    _ count: Int, at offsets: [Int64], to digest: inout ParallelDigest
  ) throws(TransferError) {
    // Without it, the pieces below are as small as the system's read-ahead, and between two of them
    // a disk moves its head.
    for offset in offsets { file?.startReading(offset..<offset + Int64(count)) }
    // All that is read at once stays in the processor's cache.
    let most = min(count, 32 << 10)
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: most * offsets.count, alignment: 16)
    defer { buffer.deallocate() }
    var added = 0
    while added < count {
      let length = min(most, count - added)
      let messages = offsets.indices.map { index in
        UnsafeMutableRawBufferPointer(rebasing: buffer[(index * most)...].prefix(length))
      }
      for (message, offset) in zip(messages, offsets) {
        try fill(message, at: offset + Int64(added))
      }
      digest.update(messages.map { UnsafeRawBufferPointer($0) })
      added += length
    }
  }

  /// Reads as many bytes as the buffer takes.
  private func fill(
    _ buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(TransferError) {
    guard let file else { throw TransferError(.internal, "a directory has no bytes") }
    var filled = 0
    while filled < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
      let read = try Self.mappingSource(path, file.read(into: rest, at: offset + Int64(filled)))
      guard read > 0 else {
        throw TransferError(
          .sourceChanged, "\(Printable.text(path)) became shorter while it was uploaded")
      }
      filled += read
    }
  }

  /// Looks at the file again, open and under its path.
  /// - Throws: `source-changed`, `source-unreadable`.
  package func check() throws(TransferError) {
    guard let file else { return }
    let (open, named) = try Self.mappingSource(
      path, (try file.status(), try directory.status(of: name)))
    let difference =
      identity.difference(from: SourceIdentity(open))
      ?? (named.map { identity.difference(from: SourceIdentity($0)) } ?? "it was removed")
      ?? (mayBeRewritten(open) ? "it may have been written to, and got its old date back" : nil)
    guard let difference else { return }
    throw TransferError(
      .sourceChanged,
      "\(Printable.text(path)) changed while it was uploaded: \(difference)",
      advice: "upload it again")
  }

  /// Whether something changed that is not seen, which may be its bytes: nobody can set the time of
  /// change back. A new mode, owner or link is seen, and sets it too.
  private func mayBeRewritten(_ now: FileStatus) -> Bool {
    now.changed != opened.changed
      && (now.mode, now.owner, now.links) == (opened.mode, opened.owner, opened.links)
  }

  private static func find(
    _ path: String, on disk: any Disk
  ) throws(DiskError) -> (directory: any DiskDirectory, name: String, status: FileStatus) {
    let found = try status(of: path, on: disk)
    guard found.status.kind == .symlink else { return found }
    return try status(of: try POSIXDisk.resolved(path), on: disk)
  }

  private static func status(
    of path: String, on disk: any Disk
  ) throws(DiskError) -> (directory: any DiskDirectory, name: String, status: FileStatus) {
    let (parent, name) = path.pathParts
    let directory = try disk.openDirectory(parent, creating: false)
    guard let status = try directory.status(of: name) else { throw DiskError("stat", ENOENT) }
    return (directory, name, status)
  }

  private static func mappingSource<Value>(
    _ path: String, _ value: @autoclosure () throws(DiskError) -> Value
  ) throws(TransferError) -> Value {
    do throws(DiskError) {
      return try value()
    } catch {
      throw unreadable(path, error)
    }
  }

  private static func unreadable(_ path: String, _ error: DiskError) -> TransferError {
    let name = Printable.text(path)
    if error.errno == EILSEQ {
      return TransferError(
        .sourceUnreadable, "the link \(name) leads to a name that is not UTF-8",
        advice: "rename that, or send the file by standard input")
    }
    guard error.errno == ENOENT || error.errno == ENOTDIR else {
      return TransferError(
        .sourceUnreadable,
        error.errno == EXDEV
          ? "\(name) leads out of the directories allowed for it"
          : "cannot read \(name): \(SystemError.text(error.errno))")
    }
    return TransferError(
      .sourceUnreadable, "there is no file \(name)",
      advice: path.unicodeScalars.contains("\u{FFFD}")
        ? "if its name is not UTF-8, rename it, or send it by standard input" : nil)
  }
}

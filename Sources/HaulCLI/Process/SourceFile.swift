import HaulCore
import HaulHTTP
import HaulLibC

/// Reads files named by options.
enum SourceFile {
  /// The text of the file; nil if it does not exist.
  /// - Throws: when it cannot be read, is too large or not UTF-8, or is secret and others can read
  ///   it.
  static func text(
    of path: String, for purpose: CommandSources.Purpose
  ) throws(UsageError) -> String? {
    guard let descriptor = try open(path, for: purpose) else { return nil }
    defer { _ = close(descriptor) }  // nothing was written
    return try text(from: descriptor, purpose)
  }

  /// Opens the file; nil if it does not exist.
  /// - Throws: when it cannot be opened, or others can do with it what they must not.
  static func open(
    _ path: String, for purpose: CommandSources.Purpose
  ) throws(UsageError) -> Int32? {
    guard !path.utf8.contains(0) else { throw UsageError("the name of the file has a NUL") }
    let opened = try UsageError.checked(NamedFile.open(path, isRegular: purpose.isReadAgain))
    guard let descriptor = opened else { return nil }
    do throws(UsageError) {
      if purpose.isSecret { try checkIsPrivate(descriptor, path) }
      if purpose.isTrusted { try checkIsTrusted(descriptor, path) }
      if !purpose.isSecret { try checkIsNotForAll(descriptor, path) }
    } catch {
      _ = close(descriptor)  // nothing was written
      throw error
    }
    return descriptor
  }

  /// Reads to the end.
  static func text(
    from descriptor: Int32, _ purpose: CommandSources.Purpose
  ) throws(UsageError) -> String {
    let limit = purpose.maximumSize
    var bytes = try UsageError.checked(NamedFile.bytes(from: descriptor, past: limit))
    guard bytes.count <= limit else {
      throw UsageError("the file is longer than \(limit >> 20) MiB")
    }
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }  // a byte order mark
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    guard purpose.toleratesBytes else { throw UsageError("the file is not UTF-8 text") }
    // A NUL cannot be sent, so what has one is refused if it is needed.
    return bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
      String(validating: line, as: UTF8.self)
        ?? String(decoding: line.map { $0 < 0x80 ? $0 : 0 }, as: UTF8.self)
    }.joined(separator: "\n")
  }

  /// Refuses a secret that others can read, as ssh does with keys. It checks the open descriptor,
  /// and thus the file that is read.
  private static func checkIsPrivate(_ descriptor: Int32, _ path: String) throws(UsageError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw UsageError("the file cannot be read: \(SystemError.text(errno))")
    }
    guard status.st_uid == geteuid() else {
      throw UsageError("the file belongs to another user, so its secrets are not used")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw UsageError(
        "others can read or change the file, so its secrets are not used; run: chmod 600 \(path)")
    }
  }

  /// Refuses a file that everybody could change: it says what is sent, and where files go. A device
  /// or a pipe is not kept.
  private static func checkIsNotForAll(
    _ descriptor: Int32, _ path: String
  ) throws(UsageError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw UsageError("the file cannot be read: \(SystemError.text(errno))")
    }
    guard status.st_mode & S_IFMT != S_IFREG || status.st_mode & 0o002 == 0 else {
      throw UsageError("everybody can change the file, so it is not used; run: chmod o-w \(path)")
    }
  }

  /// Refuses a file whose programs others could replace, with the same check of the descriptor.
  private static func checkIsTrusted(_ descriptor: Int32, _ path: String) throws(UsageError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw UsageError("the file cannot be read: \(SystemError.text(errno))")
    }
    guard status.st_uid == geteuid() || status.st_uid == 0 else {
      throw UsageError("the file belongs to another user, so its programs are not run")
    }
    guard status.st_mode & 0o022 == 0 else {
      throw UsageError(
        "others can change the file, so its programs are not run; run: chmod go-w \(path)")
    }
  }
}

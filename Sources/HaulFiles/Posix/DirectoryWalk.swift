import HaulCore
import HaulLibC

/// Opens a directory name by name, without the links that another user has put into a directory
/// that everybody may write to.
///
/// Such a link would lead a download to where only this user may write. Linux refuses to follow it
/// at the end of a path, and only with `fs.protected_symlinks`. Each link is judged in the open
/// directory that it is read from, so that no swap of names goes unseen.
struct DirectoryWalk: ~Copyable {
  private var directory: Int32
  /// What is left of the path: names, each with a NUL. The target of a link may be no text.
  private var rest: ArraySlice<CChar>
  /// How much of it a link named: that is not created.
  private var countOfLink = 0
  private var links = 0
  private let user: UInt32
  private let creates: Bool
  /// Whether it is for the user's own files.
  private let isOwn: Bool

  #if canImport(Glibc)
    /// `O_PATH`, which the library's header hides: it suffices to look names up, also where the
    /// directory cannot be listed.
    private static let lookupOnly: Int32 = 0o10_000_000
    private static let passing = lookupOnly | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
  #else
    private static let passing = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
  #endif
  private static let final = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
  private static let slash = UInt8(ascii: "/")
  /// As Linux has it.
  private static let maximumLinks = 40

  /// - Parameters:
  ///   - creating: whether missing directories are made.
  ///   - isOwn: whether it is for the user's own files. Then it is made for nobody else, and
  ///     where such a link is refused, another user's directory is too: its owner may replace
  ///     what is in it.
  ///   - user: who opens it.
  /// - Returns: a descriptor, which the caller closes.
  /// - Throws: `EACCES` for such a link; what `openat` and `mkdirat` fail with.
  static func open(
    _ path: String, creating: Bool, isOwn: Bool = false, user: UInt32
  ) throws(DiskError) -> Int32 {
    var walk = try DirectoryWalk(path, creating: creating, isOwn: isOwn, user: user)
    while let name = walk.nextName() { try walk.enter(name.bytes, isOfLink: name.isOfLink) }
    return try walk.opened()
  }

  private init(
    _ path: String, creating: Bool, isOwn: Bool, user: UInt32
  ) throws(DiskError) {
    (creates, self.isOwn, self.user) = (creating, isOwn, user)
    rest = Self.names(of: path.utf8)[...]
    let start = path.isAbsolutePath ? "/" : "."
    directory = try retrying("open") { openat(AT_FDCWD, start, Self.passing) }
  }

  deinit { _ = close(directory) }  // nothing was written

  /// In one pass: every download opens its directory.
  private static func names(of path: some Collection<UInt8>) -> [CChar] {
    var names: [CChar] = []
    names.reserveCapacity(path.count + 1)
    for byte in path where byte != slash || names.last ?? 0 != 0 {
      names.append(byte == slash ? 0 : CChar(bitPattern: byte))
    }
    if names.last ?? 0 != 0 { names.append(0) }
    return names
  }

  private mutating func nextName() -> (bytes: [CChar], isOfLink: Bool)? {
    guard let end = rest.firstIndex(of: 0) else { return nil }
    let name = Array(rest[...end])
    rest = rest[(end + 1)...]
    defer { countOfLink = max(countOfLink - name.count, 0) }
    return (name, countOfLink > 0)
  }

  private func opened() throws(DiskError) -> Int32 {
    let directory = directory
    return try retrying("open") { openat(directory, ".", Self.final) }
  }

  private mutating func enter(_ name: [CChar], isOfLink: Bool) throws(DiskError) {
    do throws(DiskError) {
      return try move(to: name)
    } catch {
      switch error.errno {
      case ENOENT where creates && !isOfLink:
        let mode: mode_t = isOwn ? 0o700 : 0o777
        if mkdirat(directory, name, mode) != 0, errno != EEXIST {
          throw DiskError("mkdir", errno)
        }
        return try move(to: name)
      // What the systems answer for a link.
      case ENOTDIR, ELOOP: try follow(name, error)
      default: throw error
      }
    }
  }

  private mutating func move(to name: [CChar]) throws(DiskError) {
    let holder = directory
    directory = try retrying("open") { openat(holder, name, Self.passing) }
    defer { _ = close(holder) }  // nothing was written
    guard isOwn, name != Self.parent else { return }
    let (found, place) = (try Self.status(of: directory), try Self.status(of: holder))
    guard found.st_uid == 0 || isTrusted(found, in: place) else {
      throw DiskError("fstat", EACCES)
    }
  }

  private static let parent: [CChar] = [0x2E, 0x2E, 0]

  private static func status(of directory: Int32) throws(DiskError) -> stat {
    var status = stat()
    guard fstat(directory, &status) == 0 else { throw DiskError("fstat", errno) }
    return status
  }

  /// Whether a link or a directory is of this user or of the owner of its directory, or is where
  /// not everybody may put one.
  private func isTrusted(_ found: stat, in holder: stat) -> Bool {
    let isForAll = holder.st_mode & (S_ISVTX | S_IWOTH) == S_ISVTX | S_IWOTH
    return !isForAll || found.st_uid == user || found.st_uid == holder.st_uid
  }

  /// - Parameter error: what opening it without following failed with.
  private mutating func follow(_ name: [CChar], _ error: DiskError) throws(DiskError) {
    var link = stat()
    guard fstatat(directory, name, &link, AT_SYMLINK_NOFOLLOW) == 0,
      link.st_mode & S_IFMT == S_IFLNK
    else { throw error }
    guard isTrusted(link, in: try Self.status(of: directory)) else {
      throw DiskError("readlink", EACCES)
    }
    links += 1
    guard links <= Self.maximumLinks else { throw DiskError("open", ELOOP) }
    let target = try target(of: name)
    // An absolute name is looked up from the root.
    if target.first == Self.slash { try move(to: [CChar(bitPattern: Self.slash), 0]) }
    let names = Self.names(of: target)
    rest = (names + rest)[...]
    countOfLink += names.count
  }

  private func target(of name: [CChar]) throws(DiskError) -> ArraySlice<UInt8> {
    var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = bytes.withUnsafeMutableBytes { buffer in
      buffer.withMemoryRebound(to: CChar.self) { text in
        text.baseAddress.map { readlinkat(directory, name, $0, text.count) } ?? -1
      }
    }
    guard count >= 0 else { throw DiskError("readlink", errno) }
    guard count < bytes.count else { throw DiskError("readlink", ENAMETOOLONG) }
    return bytes.prefix(count)
  }
}

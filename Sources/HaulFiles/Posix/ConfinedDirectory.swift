package import HaulCore
import HaulLibC

/// Opens directories that must lie below others.
///
/// All links are resolved first. Then the directory is opened name by name, and a name that became
/// a link meanwhile is an error. No name is `..`, so the result is that of `openat2` with
/// `RESOLVE_BENEATH` and `RESOLVE_NO_SYMLINKS`, on every kernel.
package enum ConfinedDirectory {
  private static let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC

  /// The descriptor of a directory, which the caller closes.
  /// - Throws: `EXDEV` if it is not below one of the roots; what `realpath`, `openat` and `mkdirat`
  ///   fail with.
  package static func open(
    _ path: String, below roots: [String], creating: Bool
  ) throws(DiskError) -> Int32 {
    guard let (root, names) = place(of: try resolved(path), below: roots) else {
      throw DiskError("open", EXDEV)
    }
    return try walk(names, from: root, creating: creating)
  }

  /// Whether a path leads to a root, or below one, once its links are resolved.
  package static func contains(_ path: String, below roots: [String]) -> Bool {
    (try? resolved(path)).map { place(of: $0, below: roots) != nil } ?? false
  }

  /// The first root that a path without links is in, also without links, and the names below it.
  private static func place(
    of path: String, below roots: [String]
  ) -> (root: String, names: [Substring])? {
    let target = FilePath(path)
    for root in roots {
      // A root that is not there has nothing below it.
      guard let real = try? resolved(root), let names = target.names(below: FilePath(real)) else {
        continue
      }
      return (real, names)
    }
    return nil
  }

  private static func walk(
    _ names: [Substring], from root: String, creating: Bool
  ) throws(DiskError) -> Int32 {
    var directory = try retrying("open") { openDirectory(AT_FDCWD, root) }
    for name in names {
      let parent = directory
      defer { close(parent) }
      directory = try next(String(name), in: parent, creating: creating)
    }
    return directory
  }

  private static func next(
    _ name: String, in parent: Int32, creating: Bool
  ) throws(DiskError) -> Int32 {
    do throws(DiskError) {
      return try retrying("open") { openDirectory(parent, name) }
    } catch {
      guard creating, error.errno == ENOENT else { throw error }
    }
    if mkdirat(parent, name, 0o777) != 0, errno != EEXIST { throw DiskError("mkdir", errno) }
    return try retrying("open") { openDirectory(parent, name) }
  }

  private static func openDirectory(_ parent: Int32, _ name: String) -> Int32 {
    openat(parent, name, flags)
  }

  /// The path without links, as far as it exists; what does not exist must not lead up.
  /// - Throws: `EXDEV` if it does; what `realpath` fails with.
  package static func resolved(_ path: String) throws(DiskError) -> String {
    var (existing, missing) = (path, [String]())
    while true {
      do throws(DiskError) {
        return missing.reversed().reduce(try POSIXDisk.resolved(existing)) { $0.appendingPath($1) }
      } catch {
        var status = stat()
        // A link that leads nowhere is not a missing directory.
        guard error.errno == ENOENT, lstat(existing, &status) != 0, errno == ENOENT,
          existing != "/", existing != "."
        else { throw error }
      }
      let (directory, name) = existing.withoutLastSlashes.pathParts
      guard !name.isByteEqual("..") else { throw DiskError("realpath", EXDEV) }
      if !name.isByteEqual(".") { missing.append(name) }
      existing = directory
    }
  }
}

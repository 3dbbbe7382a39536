import HaulControl
import HaulCore
import HaulFiles
import HaulLibC
import Hummingbird

/// Lists directories, so that a page can choose a file to send: a browser hides the paths of files.
struct DirectoryListing {
  private static let maximum = 5000

  /// Nothing outside of them is listed, also not through a link.
  let roots: RootDirectories
  let ownDirectories: OwnDirectories

  /// - Throws: `Problem` (403) for a place where no file may be sent from, (404) for no directory.
  func document(of path: String) throws(Problem) -> DirectoryDocument {
    guard path.isAbsolutePath else { throw .badRequest("the directory must be an absolute path") }
    try ownDirectories.check(directory: path)
    let descriptor = try roots.openListed(path)
    guard descriptor >= 0, let stream = fdopendir(descriptor) else {
      if descriptor >= 0 { close(descriptor) }
      throw .notFound("there is no directory \(path) that may be read")
    }
    defer { closedir(stream) }
    let names = Self.names(in: stream)
    let entries = names.prefix(Self.maximum).compactMap { name in
      entry(name, in: dirfd(stream), at: path.appendingPath(name))
    }
    return DirectoryDocument(
      directory: path, parent: parent(of: path), entries: entries,
      hasMore: names.count > Self.maximum)
  }

  private static func names(in stream: OpaquePointer) -> [String] {
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
      }
      // A name that is no UTF-8 could not be given back.
      if let name, name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// Nil for what cannot be sent or read, such as a device or a link that leads out of the roots.
  private func entry(
    _ name: String, in directory: Int32, at path: String
  ) -> DirectoryDocument.Entry? {
    var status = stat()
    guard fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
    if status.st_mode & S_IFMT == S_IFLNK {
      guard roots.allows(path), fstatat(directory, name, &status, 0) == 0 else { return nil }
    }
    let isDirectory = status.st_mode & S_IFMT == S_IFDIR
    guard isDirectory || status.st_mode & S_IFMT == S_IFREG,
      faccessat(directory, name, isDirectory ? R_OK | X_OK : R_OK, AT_EACCESS) == 0
    else { return nil }
    return .init(
      name: name, isDirectory: isDirectory, size: isDirectory ? nil : Int64(status.st_size))
  }

  private func parent(of path: String) -> String? {
    guard path != "/", !roots.paths.contains(where: { FilePath($0) == FilePath(path) }) else {
      return nil
    }
    return path.pathParts.directory
  }
}

extension ControlAPI {
  func files(_ request: Request) throws -> DirectoryDocument {
    let places = roots ?? RootDirectories(paths: ["/"])
    return try DirectoryListing(roots: places, ownDirectories: ownDirectories)
      .document(of: try directory(in: request))
  }

  /// The room in a directory, or where it would be made.
  func space(_ request: Request) throws -> SpaceDocument {
    var path = try directory(in: request)
    guard path.isAbsolutePath else {
      throw Problem.badRequest("the directory must be an absolute path")
    }
    try roots?.checkSpace(of: path)
    var space = SpaceDocument(directory: path)
    while true {
      do {
        space.free = try POSIXDisk().openDirectory(path, below: nil, creating: false)
          .availableBytes()
        return space
      } catch {
        let parent = path.pathParts.directory
        guard error.errno == ENOENT, parent.utf8.count < path.utf8.count else { return space }
        path = parent
      }
    }
  }

  private func directory(in request: Request) throws -> String {
    var directory: String?
    for (key, value) in request.uri.queryParameters {
      guard key == "directory", directory == nil else {
        throw Problem.badRequest("the only parameter is 'directory', given once")
      }
      directory = String(value)
    }
    guard let directory else { throw Problem.badRequest("give a 'directory'") }
    return directory.withoutLastSlashes
  }
}

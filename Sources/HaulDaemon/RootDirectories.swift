import HaulControl
import HaulCore
import HaulKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The directories of the daemon's list, token and configuration, which no transfer may write to
/// or send.
struct OwnDirectories: Sendable {
  let paths: [String]

  /// Most transfers of a batch have the same directory: each is looked up once.
  /// - Throws: `Problem` (403).
  func check(_ batch: [NewTransfer]) throws(Problem) {
    var places: Set<String> = []
    for new in batch {
      if let directory = new.directory { places.insert(directory) }
      for file in new.files {
        guard let slash = file.lastIndex(of: "/") else { continue }
        places.insert(String(file[..<slash]))
        if RootDirectories.isLink(file) { places.insert(file) }
      }
    }
    try check(places)
  }

  /// - Throws: `Problem` (403).
  func check(directory: String) throws(Problem) { try check([directory]) }

  private func check(_ places: Set<String>) throws(Problem) {
    let own = paths.compactMap(RootDirectories.resolved)
    for place in places where place.hasPrefix("/") {
      guard let target = RootDirectories.resolved(place),
        own.contains(where: { RootDirectories.isBelow(target, $0) })
      else { continue }
      throw RootDirectories.forbidden(
        "\(place) is among Haul's own files; choose another directory")
    }
  }
}

/// What a transfer that is added over TCP may do: read and write files below some directories, and
/// nothing else on this machine.
struct RootDirectories: Sendable {
  let paths: [String]

  /// - Throws: `Problem` (403).
  func check(_ new: NewTransfer) throws(Problem) {
    guard new.run == nil, new.workingDirectory == nil else {
      throw Self.forbidden("programs can only be added over the socket, with 'haul add --run'")
    }
    // A path that is missing or not absolute is refused later.
    for path in new.files + [new.directory].compactMap(\.self) where path.hasPrefix("/") {
      try check(path)
    }
    // A root itself is no file.
    if let file = new.file, file.hasPrefix("/"), let slash = file.lastIndex(of: "/") {
      try check(String(file[..<slash]))
    }
  }

  /// A transfer that was added over the socket may write anywhere and carry secrets: neither may
  /// serve another server that was named over TCP.
  /// - Throws: `Problem` (403).
  func check(_ request: TransferRequest, moving url: ResourceURL) throws(Problem) {
    guard let old = request.url else { return }
    for path in request.paths { try check(path) }
    let hasSecrets = !request.fields.fields.isEmpty || request.upload?.form.isEmpty == false
    guard old.origin == url.origin || !hasSecrets else {
      throw Self.forbidden(
        "its header fields and its form are for \(old.origin.authority); "
          + "another server can be named over the socket, with 'haul set'")
    }
  }

  /// Whether a command may run a program again, or delete or replace files.
  static func checks(_ command: CommandBody.Name) -> Bool {
    switch command {
    case .cancel, .remove, .restart, .retry: true
    case .pause, .resume, .requeue, .start, .prioritize, .move: false
    }
  }

  /// A transfer that was added over the socket may run a program and have files anywhere: over TCP,
  /// the program is not run again after its end, and the files are not deleted, replaced or sent
  /// again.
  /// - Throws: `Problem` (403).
  func check(_ body: CommandBody, of transfer: TransferView) throws(Problem) {
    let id = transfer.row.id
    guard transfer.request.url != nil else {
      let runsAgain = body.command == .restart || body.command == .retry
      guard !runsAgain || transfer.row.state == .completed && body.command == .retry else {
        throw Self.forbidden(
          "\(id): a program can only be run again over the socket, with "
            + "'haul \(body.command) \(id)'"
        )
      }
      return
    }
    let (uses, what) =
      if transfer.request.upload != nil {
        (body.command == .retry || body.command == .restart, "sent")
      } else {
        (body.deletesBytes(in: transfer.row.state), "deleted")
      }
    guard uses else { return }
    do throws(Problem) {
      for path in transfer.request.paths { try check(path) }
    } catch {
      throw Self.forbidden(
        "\(id): over TCP, files are only \(what) below \(paths.joined(separator: " or ")); over "
          + "the socket: haul \(body.command) \(id)")
    }
  }

  /// Opens a directory below one of them without following a link below it.
  /// - Returns: the file descriptor; -1 for another directory.
  func openDirectory(_ path: String) -> Int32 {
    let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
    guard let root = paths.first(where: { Self.isBelow(path, $0) }) else { return -1 }
    var directory = open(root, flags)
    let below = String(path.utf8.dropFirst(root.utf8.count)) ?? ".."
    for part in below.split(separator: "/") where directory >= 0 {
      let next = part == ".." ? -1 : openat(directory, String(part), flags | O_NOFOLLOW)
      close(directory)
      directory = next
    }
    return directory
  }

  /// Opens a directory whose files may be sent; links are followed that stay below the roots.
  /// - Returns: the file descriptor; -1 if there is no such directory.
  /// - Throws: `Problem` (403).
  func openListed(_ path: String) throws(Problem) -> Int32 {
    guard let target = target(of: path) else {
      throw Self.forbidden(
        paths.isEmpty
          ? "over TCP, files are only listed below the directories of 'haul serve --root'"
          : "over TCP, files are only listed below \(paths.joined(separator: " or ")), "
            + "and not through a link that leads out of it")
    }
    // What was a directory may have become a link: none is followed now.
    return RootDirectories(paths: paths.compactMap(Self.resolved)).openDirectory(target)
  }

  /// Whether a path leads below the roots, also as a link.
  func allows(_ path: String) -> Bool { target(of: path) != nil }

  /// The path without links; nil outside of the roots.
  private func target(of path: String) -> String? {
    guard !path.split(separator: "/").contains(".."), let target = Self.resolved(path),
      paths.compactMap(Self.resolved).contains(where: { Self.isBelow(target, $0) })
    else { return nil }
    return target
  }

  private func check(_ path: String) throws(Problem) {
    guard allows(path) else {
      throw Self.forbidden(
        "over TCP, files can only be written or sent below \(paths.joined(separator: " or ")), "
          + "and not through a link that leads out of it")
    }
  }

  /// The path without symbolic links, as far as it exists; nil if it cannot be found out.
  fileprivate static func resolved(_ path: String) -> String? {
    var (existing, missing) = (Substring(path), Substring())
    while true {
      let real = realpath(existing.isEmpty ? "/" : String(existing), nil)
      if let real {
        defer { free(real) }
        let parent = String(cString: real)
        return parent == "/" && !missing.isEmpty ? String(missing) : parent + missing
      }
      // A link that leads nowhere is not a missing file.
      var status = stat()
      guard errno == ENOENT, lstat(String(existing), &status) != 0, errno == ENOENT,
        let slash = existing.lastIndex(of: "/")
      else { return nil }
      missing = path[slash..<path.endIndex]
      existing = existing[..<slash]
    }
  }

  fileprivate static func isLink(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  fileprivate static func isBelow(_ path: String, _ root: String) -> Bool {
    path == root || path.hasPrefix(root == "/" ? root : root + "/")
  }

  fileprivate static func forbidden(_ detail: String) -> Problem {
    Problem(403, "Forbidden", detail)
  }
}

extension TransferRequest {
  /// The file or directory that it writes to, or the files that it sends; none for a stream or a
  /// step.
  fileprivate var paths: [String] {
    switch work {
    case .download(let download): [download.destination.path].compactMap(\.self)
    case .upload(let upload): upload.sources
    case .step: []
    }
  }
}

extension CommandBody {
  /// Whether it deletes or replaces the files of a download in this state.
  fileprivate func deletesBytes(in state: TransferState) -> Bool {
    switch (command, state) {
    case (.restart, _): true
    case (.cancel, .completed), (.cancel, .cancelled): false
    case (.cancel, _): keepsPart != true
    case (.remove, .completed), (.remove, .cancelled): false
    case (.remove, _): true
    default: false
    }
  }
}

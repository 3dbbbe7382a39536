import HaulControl
import HaulCore
import HaulFiles
import HaulKit
import HaulLibC
import NIOConcurrencyHelpers

/// The directories of the daemon's list, token and configuration, and of the lists that it adds for
/// its owner, which no transfer may write to or send.
struct OwnDirectories: Sendable {
  private let fixed: [String]
  private let watched: NIOLockedValueBox<String?>

  init(_ fixed: [String], watched: String?) {
    (self.fixed, self.watched) = (fixed, NIOLockedValueBox(watched))
  }

  /// From now on, lists are added from this directory.
  func watch(_ directory: String?) { watched.withLockedValue { $0 = directory } }

  private var paths: [String] { fixed + (watched.withLockedValue { $0 }.map { [$0] } ?? []) }

  /// Most transfers of a batch have the same directory: each is looked up once.
  /// - Throws: `Problem` (403).
  func check(_ batch: [NewTransfer]) throws(Problem) {
    var places: Set<FilePath> = []
    for new in batch {
      if case .directory(let path) = new.request.download?.destination {
        places.insert(FilePath(path))
        continue
      }
      for file in new.request.paths {
        places.insert(FilePath(file.pathParts.directory))
        if RootDirectories.isLink(file) { places.insert(FilePath(file)) }
      }
    }
    try check(places)
  }

  /// - Throws: `Problem` (403).
  func check(directory: String) throws(Problem) { try check([FilePath(directory)]) }

  private func check(_ places: Set<FilePath>) throws(Problem) {
    for place in places where place.text.isAbsolutePath {
      // Where a path leads up from a directory that does not exist, nobody can say yet.
      let isUnclear = place.leadsUp && (try? ConfinedDirectory.resolved(place.text)) == nil
      guard isUnclear || ConfinedDirectory.contains(place.text, below: paths) else { continue }
      throw RootDirectories.forbidden(
        "\(place.text) is among Haul's own files or lists, or may lead there; choose another "
          + "directory")
    }
  }
}

/// What a transfer that is added over TCP may do: read and write files below some directories, and
/// nothing else on this machine.
struct RootDirectories: Sendable {
  let paths: [String]

  /// - Throws: `Problem` (403).
  func check(_ new: NewTransfer) throws(Problem) {
    guard !new.namesProgram else {
      throw Self.forbidden("programs can only be added over the socket, with 'haul add --run'")
    }
    guard new.request.keySources.isEmpty else {
      throw Self.forbidden("keys of a role are only used for what is added over the socket")
    }
    guard new.request.bearerFiles.isEmpty else { throw Self.noBearerFile }
    for path in new.request.paths { try check(path) }
    // A root itself is no file.
    if case .file(let path) = new.request.download?.destination {
      try check(path.pathParts.directory)
    }
  }

  /// A transfer that was added over the socket may write anywhere and carry secrets of its owner,
  /// and what waits for it may run its file. Over TCP it gets another address, or header fields,
  /// only if it has no secret, and a checksum proves that it is the same file.
  /// - Throws: `Problem` (403).
  func checkMove(of request: TransferRequest) throws(Problem) {
    guard request.roots == nil else { return }
    for path in request.paths { try check(path) }
    let checksums = request.download?.checksums ?? []
    guard !request.hasSecrets, checksums.contains(where: \.algorithm.isTrusted) else {
      throw Self.forbidden(
        "it was added over the socket, and has secrets or no SHA-2 checksum; change it over the "
          + "socket: haul set")
    }
  }

  /// What its owner says of a group is not changed over TCP.
  /// - Throws: `Problem` (403).
  func checkRegrouping(of request: TransferRequest) throws(Problem) {
    guard request.roots == nil else { return }
    throw Self.forbidden(
      "it was added over the socket; its group is changed there: haul set --group")
  }

  /// Whether a command may run a program again, hide its failure, or delete or replace files.
  static func checks(_ command: CommandBody.Name) -> Bool {
    switch command {
    case .cancel, .remove, .restart, .retry: true
    case .pause, .resume, .requeue, .start, .prioritize, .move: false
    }
  }

  /// A transfer that was added over the socket may run a program and have files anywhere: over TCP,
  /// the program is not run again after its end, which stays as it is, and the files are not
  /// deleted, replaced or sent again.
  /// - Throws: `Problem` (403).
  func check(_ body: CommandBody, of transfer: TransferView) throws(Problem) {
    let id = transfer.row.id
    let repeats = body.command == .restart || body.command == .retry
    guard transfer.request.url != nil else {
      guard !repeats || transfer.row.state == .completed && body.command == .retry else {
        throw Self.forbidden(
          "\(id): a program can only be run again over the socket, with "
            + "'haul \(body.command) \(id)'"
        )
      }
      // Its owner would no longer see that it failed, and why.
      guard body.command != .cancel || transfer.row.state != .failed else {
        throw Self.forbidden(
          "\(id): over TCP, a program that has failed is not cancelled; over the socket: "
            + "haul cancel \(id)")
      }
      return
    }
    if repeats, transfer.request.upload?.download != nil, transfer.request.roots == nil {
      throw Self.forbidden(
        "\(id): it copies with the access of its owner; over the socket: haul \(body.command) \(id)"
      )
    }
    let (uses, what) =
      if transfer.request.upload != nil {
        (repeats, "sent")
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

  /// Opens a directory that is one of them or below one, also through links that stay there.
  /// - Returns: the file descriptor; -1 for another directory, or one that cannot be opened.
  func openDirectory(_ path: String) -> Int32 {
    (try? ConfinedDirectory.open(path, below: paths, creating: false)) ?? -1
  }

  /// Opens a directory whose files may be sent; links are followed that stay below the roots.
  /// - Returns: the file descriptor; -1 if there is no such directory.
  /// - Throws: `Problem` (403).
  func openListed(_ path: String) throws(Problem) -> Int32 {
    guard allows(path) else {
      throw Self.forbidden(
        paths.isEmpty
          ? "over TCP, files are only listed below the directories of 'haul serve --root'"
          : "over TCP, files are only listed below \(paths.joined(separator: " or ")), "
            + "and not through a link that leads out of it")
    }
    return openDirectory(path)
  }

  /// - Throws: `Problem` (403) for a directory where a client over TCP may not write.
  func checkSpace(of path: String) throws(Problem) { try check(path) }

  /// Whether a path leads below the roots, also as a link. It must not lead up with `..`.
  func allows(_ path: String) -> Bool {
    !FilePath(path).leadsUp && ConfinedDirectory.contains(path, below: paths)
  }

  private func check(_ path: String) throws(Problem) {
    guard allows(path) else {
      throw Self.forbidden(
        "over TCP, files can only be written or sent below \(paths.joined(separator: " or ")), "
          + "and not through a link that leads out of it")
    }
  }

  fileprivate static func isLink(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  /// It would be read with the rights of the owner, and sent to an address that a client chooses.
  static let noBearerFile = forbidden(
    "a file with a token is only read for what is added over the socket")

  fileprivate static func forbidden(_ detail: String) -> Problem {
    Problem(403, "Forbidden", detail)
  }
}

extension TransferRequest {
  /// The file or directory that it writes to, or the files that it sends; none for a stream or a
  /// step.
  fileprivate var paths: [String] {
    upload?.source.files ?? download?.destination.path.map { [$0] } ?? []
  }

  /// Whether it carries what its owner has for its own address only, or a key signs it.
  fileprivate var hasSecrets: Bool {
    !headers.isEmpty && download?.hasFieldsOfClient != true
      || url?.credentials != nil || !keySources.isEmpty || !bearerFiles.isEmpty
      || upload?.form.isEmpty == false || upload?.download != nil
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

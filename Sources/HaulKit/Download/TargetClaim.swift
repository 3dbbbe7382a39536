import HaulCore
import HaulFiles

/// The final name of a download and the part file that will become it. Every call blocks: `BlockingIO` makes them.
struct TargetClaim: Sendable {
  let directory: any DiskDirectory
  /// The name that the finished file gets, unless it is taken by then and another may be.
  let name: FileName
  let part: PartFile
  /// The name before any number was added.
  let wanted: FileName
  /// A file under the wanted name that may be the one that is asked for.
  let existing: DownloadMachine.ExistingFile?
  let isReplacing: Bool
  /// Whether a number may be added to the name.
  let mayBeNumbered: Bool
  /// Held in the book until the run has ended.
  let key: TargetBook.Key

  enum Outcome: Sendable {
    case claimed(TargetClaim)
    /// A file is there and is taken as the one that was asked for.
    case alreadyThere(path: String, size: Int64, [Checksum])
  }

  var path: String { directory.filePath(name.text) }

  /// Finds the name, checks what lies there, and takes its part file for this process.
  /// - Parameters:
  ///   - serverName: goes before the name in the address; an exact path goes before both.
  ///   - book: where the target is held, for the caller to let go of at the end.
  /// - Throws: `not-a-regular-file`, `permission-denied`, `name-conflict`, `in-use`, `disk-full`, `io`.
  static func make(
    for request: DownloadRequest, of id: TransferID, serverName: FileName? = nil,
    on disk: any Disk, nonce: [UInt8], book: TargetBook
  ) throws(TransferError) -> Outcome {
    let search = try TargetSearch(request, of: id, serverName, on: disk, nonce: nonce, book: book)
    switch try TargetCheck.state(of: search.name.text, in: search.directory) {
    case .absent: return .claimed(try book.search(search.claimFree))
    case .regular(let size, let modified): return try search.taken(size: size, modified: modified)
    }
  }

  /// As `make` for a wanted name of which nothing is there, not even of an earlier run; nil, and nothing is held, for any
  /// other. It waits for no other search and reads no file.
  static func makeNew(
    for request: DownloadRequest, of id: TransferID, serverName: FileName? = nil,
    on disk: any Disk, nonce: [UInt8], book: TargetBook
  ) throws(TransferError) -> TargetClaim? {
    try TargetSearch(request, of: id, serverName, on: disk, nonce: nonce, book: book).claimNew()
  }

  /// The next name to try when the wanted one was taken meanwhile.
  func nextFreeName() throws(TransferError) -> FileName {
    var number = 1
    while try TargetCheck.state(of: name.numbered(number).text, in: directory) != .absent {
      number += 1
    }
    return name.numbered(number)
  }
}

/// Looks for a name as `--if-exists` says.
private struct TargetSearch {
  let request: DownloadRequest
  let id: TransferID
  let disk: any Disk
  let nonce: [UInt8]
  let book: TargetBook
  let directory: any DiskDirectory
  /// Of the directory.
  let status: FileStatus
  let name: FileName
  let isExact: Bool

  init(
    _ request: DownloadRequest, of id: TransferID, _ serverName: FileName?, on disk: any Disk,
    nonce: [UInt8], book: TargetBook
  ) throws(TransferError) {
    self.request = request
    self.id = id
    self.book = book
    self.disk = disk
    self.nonce = nonce
    isExact = request.destination.isExact
    let directoryPath: String
    switch request.destination {
    case .directory(let path):
      directoryPath = path
      name = serverName ?? FileName(request.url)
    case .stream:
      throw TransferError(.internal, "a stream has no file")
    case .file(let path):
      let last: String
      (directoryPath, last) = path.pathParts
      guard !last.isEmpty, last != ".", last != ".." else {
        throw TransferError(.notARegularFile, "the target is a directory; give a file name")
      }
      name = FileName(exactly: last)
    }
    let opened = try TargetCheck.openDirectory(
      directoryPath, on: disk, creating: !isExact || request.makesDirectory)
    directory = opened
    status = try mapping("look at the directory") { () throws(DiskError) in try opened.status() }
  }

  private var mayBeNumbered: Bool {
    request.ifExists == .rename || (!isExact && request.ifExists == .update)
  }

  /// The wanted name is free: it is ours, or, for a derived name whose part is of another address or in use by another
  /// transfer, the next.
  func claimFree() throws(TransferError) -> TargetClaim {
    if let part = try acquire(name) {
      if isExact || part.isOf(request.url) { return claim(name, part) }
      release(part, name)
    } else if !mayBeNumbered {
      throw inUse
    }
    return try nextNumbered(existing: nil)
  }

  /// The wanted name, if nothing of it is there. It is looked at before it is held, so that no other search finds it held
  /// in vain, and afterwards, as another transfer may have ended meanwhile.
  func claimNew() throws(TransferError) -> TargetClaim? {
    guard try acquireNew() != nil, book.hold(key(name), for: id, request.url) else { return nil }
    do throws(TransferError) {
      if let part = try acquireNew() { return claim(name, part) }
    } catch {
      book.letGo(key(name))
      throw error
    }
    book.letGo(key(name))
    return nil
  }

  private func acquireNew() throws(TransferError) -> PartFile? {
    guard try TargetCheck.state(of: name.text, in: directory) == .absent else { return nil }
    return try PartFile.acquireNew(
      disk: disk, directory: directory, name: name.text, nonce: nonce,
      durability: request.durability, deferringJournalUpTo: Self.smallFile)
  }

  /// The wanted name, whatever is there.
  private func claimWanted(
    existing: DownloadMachine.ExistingFile? = nil
  ) throws(TransferError) -> TargetClaim {
    guard let part = try acquire(name) else { throw inUse }
    return claim(name, part, existing: existing)
  }

  private var inUse: TransferError {
    let other = book.holder(of: key(name)).map { "\($0.redacted) is" } ?? "another file is"
    return TransferError(
      .inUse,
      "\(other) being downloaded to \(name.text) by this run, or is to go on; leave one out or give it another name"
    )
  }

  func taken(size: Int64, modified: Double) throws(TransferError) -> TargetClaim.Outcome {
    if let finished = try finishedBefore() { return .claimed(finished) }
    let there = TargetClaim.Outcome.alreadyThere(
      path: directory.filePath(name.text), size: size, [])
    let conflict = TransferError(
      .nameConflict, "a file of that name is there; see --if-exists, or give another name with -o")
    switch request.ifExists {
    case .skip: return there
    case .fail: throw conflict
    case .overwrite: return .claimed(try claimWanted())
    case .rename: return .claimed(try claimNumbered(existing: nil))
    case .update: break
    }
    if !request.checksums.isEmpty {
      if try request.checksums.mismatch(with: digests(size: size)) == nil {
        return .alreadyThere(path: directory.filePath(name.text), size: size, request.checksums)
      }
      if isExact { throw conflict }
      return .claimed(try claimNumbered(existing: nil))
    }
    let existing = DownloadMachine.ExistingFile(
      size: size, modified: modified, mayTakeAnotherName: !isExact)
    if isExact { return .claimed(try claimWanted(existing: existing)) }
    return .claimed(try claimNumbered(existing: existing))
  }

  /// A crash came after the file got its name and before its journal was removed.
  private func finishedBefore() throws(TransferError) -> TargetClaim? {
    guard try hasJournal(name) else { return nil }
    return try book.search { () throws(TransferError) in
      guard let part = try acquire(name) else { return nil }
      if part.recovery.published { return claim(name, part) }
      release(part, name)
      return nil
    }
  }

  private func hasJournal(_ name: FileName) throws(TransferError) -> Bool {
    try TargetCheck.state(of: try PartNames(name.text).journal, in: directory) != .absent
  }

  private func claimNumbered(
    existing: DownloadMachine.ExistingFile?
  ) throws(TransferError) -> TargetClaim {
    try book.search { () throws(TransferError) in try nextNumbered(existing: existing) }
  }

  private func nextNumbered(
    existing: DownloadMachine.ExistingFile?
  ) throws(TransferError) -> TargetClaim {
    var number = 1
    while true {
      let candidate = name.numbered(number)
      number += 1
      let isTaken = try TargetCheck.state(of: candidate.text, in: directory) != .absent
      if isTaken, try !hasJournal(candidate) { continue }
      guard let part = try acquire(candidate) else { continue }
      // A crash may have come after the file got its name.
      if part.isOf(request.url), !isTaken || part.recovery.published {
        return claim(candidate, part, existing: existing)
      }
      release(part, candidate)
    }
  }

  private func key(_ name: FileName) -> TargetBook.Key {
    TargetBook.Key(device: status.device, inode: status.inode, name: name.text)
  }

  /// The part file of a name; nil when another transfer of this manager has it.
  private func acquire(_ name: FileName) throws(TransferError) -> PartFile? {
    guard book.hold(key(name), for: id, request.url) else { return nil }
    do throws(TransferError) {
      return try PartFile.acquire(
        disk: disk, directory: directory, name: name.text, nonce: nonce,
        durability: request.durability, deferringJournalUpTo: Self.smallFile)
    } catch {
      book.letGo(key(name))
      throw error
    }
  }

  private func release(_ part: PartFile, _ name: FileName) {
    part.release()
    book.letGo(key(name))
  }

  /// Up to this length a file that was cut off by a crash is fetched anew: 1 MiB.
  private static let smallFile: Int64 = 1 << 20

  private func claim(
    _ name: FileName, _ part: PartFile, existing: DownloadMachine.ExistingFile? = nil
  ) -> TargetClaim {
    TargetClaim(
      directory: directory, name: name, part: part, wanted: self.name, existing: existing,
      isReplacing: request.ifExists == .overwrite, mayBeNumbered: mayBeNumbered, key: key(name))
  }

  private func digests(size: Int64) throws(TransferError) -> [Checksum] {
    try FileVerifier.digests(
      request.checksums.map(\.algorithm), of: name.text, size: size, in: directory)
  }
}

extension PartFile {
  /// Whether nothing is in the part, or bytes of this address.
  func isOf(_ url: ResourceURL) -> Bool {
    recovery.head?.isOf(url) ?? true
  }
}

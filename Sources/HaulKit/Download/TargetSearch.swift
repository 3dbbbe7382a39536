import HaulCore
import HaulFiles

/// Searches for the name of a file, as `ifExists` says. Every call blocks: run it on `BlockingIO`.
struct TargetSearch {
  let request: DownloadRequest
  let id: TransferID
  let previous: PreviousRun
  let disk: any Disk
  let nonce: [UInt8]
  let reservations: TargetReservations
  let directory: any DiskDirectory
  /// The status of the directory.
  let status: FileStatus
  let name: FileName
  let isExact: Bool
  /// What was reserved for it before it ran; nil for nothing.
  let reserved: TargetReservations.Reserved?
  /// Files of the address are searched up to this number, even if lower ones are missing.
  var highestNumber: Int
  /// The first number that is tried for a free name.
  var firstNumber = 1

  /// - Parameter serverName: overrides the name in the address; an exact path overrides both.
  /// - Throws: `not-a-regular-file`, `permission-denied`, `io`.
  init(
    for request: DownloadRequest, of id: TransferID, serverName: FileName? = nil,
    previous: PreviousRun = PreviousRun(), in engine: Engine
  ) throws(TransferError) {
    self.request = request
    self.id = id
    self.previous = previous
    reservations = engine.targets
    let disk = engine.disk(of: request)
    self.disk = disk
    nonce = engine.random.bytes(16)
    isExact = request.destination.isExact
    reserved = reservations.reserved(for: id)
    highestNumber = reserved?.number ?? 0
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
        throw TransferError(
          .notARegularFile, "the target is a directory", advice: "give a file name")
      }
      name = FileName(exactly: last)
    }
    let opened = try TargetCheck.openDirectory(
      directoryPath, on: disk, creating: !isExact || request.createsDirectories)
    directory = opened
    status = try mapping("check the directory", opened.status())
  }

  private var numbering: TargetClaim.Numbering {
    switch request.ifExists {
    case .rename: .always
    case .update where !isExact: .whenNameIsTaken
    default: .never
    }
  }

  /// Finds the name, checks what exists there, and takes its part file for this process. The name
  /// is reserved until the caller releases it. A restarted download gets the name of the file that
  /// it completed, unless that is another file by now.
  /// - Throws: `not-a-regular-file`, `permission-denied`, `name-conflict`, `in-use`, `disk-full`,
  ///   `io`.
  static func find(
    for request: DownloadRequest, of id: TransferID, serverName: FileName?,
    previous: PreviousRun, in engine: Engine
  ) throws(TransferError) -> TargetClaim.Outcome {
    if let path = previous.path {
      var exact = request
      exact.destination = .file(path)
      exact.createsDirectories = exact.createsDirectories || !request.destination.isExact
      // A name that was derived may get a number, should another program take it meanwhile.
      if !request.destination.isExact, request.ifExists == .update { exact.ifExists = .rename }
      let search = try TargetSearch(for: exact, of: id, in: engine)
      if let claim = try search.claimPrevious() { return .claimed(claim) }
    }
    let search = try TargetSearch(
      for: request, of: id, serverName: serverName, previous: previous, in: engine)
    if let claim = try search.claimPreviousNumber() { return .claimed(claim) }
    return try search.find()
  }

  /// Takes the part file with a number that an earlier run began, even if the name without a number
  /// is free by now; nil if there is none.
  private func claimPreviousNumber() throws(TransferError) -> TargetClaim? {
    guard numbering != .never, let location = previous.location, location.name != name.text,
      location.directory == directory.path
    else { return nil }
    let numbers = 1...Self.highestSearched
    guard let number = numbers.first(where: { name.numbered($0).text == location.name }) else {
      return nil
    }
    let candidate = name.numbered(number)
    guard try hasJournal(candidate),
      try state(of: candidate) == .absent
    else { return nil }
    return try reservations.search { () throws(TransferError) in
      try acquire(candidate).map { claim(candidate, $0, number: number) }
    }
  }

  /// The highest number that is recognized in a name.
  private static let highestSearched = 1000

  /// Finds the name; see `find(for:of:serverName:in:)`.
  /// - Throws: `not-a-regular-file`, `permission-denied`, `name-conflict`, `in-use`, `disk-full`,
  ///   `io`.
  private func find() throws(TransferError) -> TargetClaim.Outcome {
    // Nothing that has a number now is an earlier download of it: each look would cost one more.
    if let reserved, reserved.number > 0, reserved.hadNoFiles {
      return .claimed(try claimNumbered())
    }
    let isFree = try state(of: name) == .absent
    if !isFree, let finished = try claimPublished() { return .claimed(finished) }
    switch request.ifExists {
    case .update where !isFree || highestNumber > 0: return try update(isFree: isFree)
    case _ where isFree: return .claimed(try reservations.search(claimFree))
    case .skip: return try alreadyExists()
    case .fail: throw Self.conflict
    case .overwrite:
      if let right = try unlessRight() { return right }
      return .claimed(try claimReplaced())
    case .rename, .update: return .claimed(try claimNumbered())
    }
  }

  /// What has a name. Beside a name that was derived, a number is added for anything that has it.
  func state(of name: FileName) throws(TransferError) -> TargetState {
    try TargetCheck.state(
      of: name.text, in: directory, allowsOther: !isExact && numbering != .never)
  }

  private func alreadyExists() throws(TransferError) -> TargetClaim.Outcome {
    guard case .regular(let size, _) = try TargetCheck.state(of: name.text, in: directory) else {
      throw TransferError(
        .io, "the file was removed while it was being checked", advice: "run it again")
    }
    let checksums = request.checksums
    let path = directory.filePath(name.text)
    if checksums.isEmpty { return .alreadyExists(path: path, size: size, []) }
    let found = try FileVerifier.digests(
      checksums.map(\.algorithm), of: name.text, size: size, in: directory)
    if let (expected, got) = checksums.mismatch(with: found) {
      throw TransferError(
        .checksumMismatch,
        "the existing file does not match: expected \(expected), got \(got)", advice: "replace it"
      ).remedied(by: .overwriting)
    }
    return .alreadyExists(path: path, size: size, checksums)
  }

  static let conflict = TransferError(
    .nameConflict, "a file of that name exists", advice: "replace it, or give another name"
  ).remedied(by: .existingFile)

  /// Claims the free name, or the next one if the name is derived and its part file is in use, or
  /// of another address and not to be taken over.
  func claimFree() throws(TransferError) -> TargetClaim {
    if let reserved, reserved.number > 0 { return try nextNumbered() }
    if let part = try acquire(name) {
      if isOwn(part, name) || mayTakeOver(part) { return claim(name, part) }
      release(part, name)
      if isExact { throw Self.partOfOwner }
    } else if numbering == .never {
      throw inUse
    }
    return try nextNumbered()
  }

  /// Finds and reserves the name of a download that runs later. Numbers follow the order of these
  /// calls.
  /// - Parameters:
  ///   - count: how many files would have the same name.
  ///   - last: the number of the one before, if no file has the name: then the disk need not be
  ///     searched from the first number again.
  /// - Returns: its number, for the next one; nil if that must search the disk.
  /// - Throws: as `find`.
  func reserve(among count: Int, after last: Int?) throws(TransferError) -> Int? {
    var search = self
    search.highestNumber = count
    let mayContinue = last != nil && numbering != .never
    if let last { search.firstNumber = last + 1 }
    let outcome = mayContinue ? .claimed(try search.claimNumbered()) : try search.find()
    guard case .claimed(let claim) = outcome else { return nil }
    claim.part.release()
    let hadNoFiles = mayContinue ? true : try !search.hasFiles()
    reservations.reserve(
      claim.key, as: .init(number: claim.number, hadNoFiles: hadNoFiles), for: id)
    return hadNoFiles ? claim.number : nil
  }

  /// Claims the wanted name if it has no file and no part file; otherwise it returns nil and
  /// reserves nothing. It checks before it reserves, so it waits for no other search, and checks
  /// again if a target was released meanwhile.
  func claimNew() throws(TransferError) -> TargetClaim? {
    let releaseCount = reservations.releaseCount
    guard reserved?.number ?? 0 == 0, let part = try acquireNew(),
      reservations.hold(key(name), for: id, request.url)
    else { return nil }
    if reservations.releaseCount == releaseCount { return claim(name, part) }
    do throws(TransferError) {
      if let part = try acquireNew() { return claim(name, part) }
    } catch {
      reservations.release(key(name))
      throw error
    }
    reservations.release(key(name))
    return nil
  }

  private func acquireNew() throws(TransferError) -> PartFile? {
    guard try state(of: name) == .absent else { return nil }
    return try PartFile.acquireNew(
      disk: disk, directory: directory, name: name.text, nonce: nonce,
      durability: request.durability, deferringJournalUpTo: Self.smallFile)
  }

  /// Claims the wanted name, whose file is replaced. Over TCP, only what came over TCP may be.
  func claimReplaced() throws(TransferError) -> TargetClaim {
    let claim = try claimWanted()
    guard claim.mayReplace else {
      release(claim.part, name)
      throw TransferError(
        .nameConflict,
        "the file of that name did not come over TCP, or has changed since",
        advice: "replace it over the socket (haul add), or give another name")
    }
    return claim
  }

  /// Claims the wanted name, even if a file has it.
  func claimWanted() throws(TransferError) -> TargetClaim {
    guard let part = try acquire(name) else { throw inUse }
    guard mayDiscard(part) else {
      release(part, name)
      throw Self.partOfOwner
    }
    return claim(name, part)
  }

  /// Whether a part of another address is taken. Beside a name that was derived, the user must say
  /// that it may be of the same file.
  private func mayTakeOver(_ part: PartFile) -> Bool {
    guard !isExact else { return mayDiscard(part) }
    return !request.startOver && part.recovery.head?.isOfClient == request.isOfClient
      && (request.resumesFromOtherURL || !request.checksums.isEmpty)
  }

  /// Whether a part may be taken whatever its bytes are. What the owner has of an unfinished
  /// download is not a client's.
  func mayDiscard(_ part: PartFile) -> Bool {
    !request.isOfClient || part.recovery.head?.isOfClient ?? true
  }

  private static let partOfOwner = TransferError(
    .nameConflict, "an unfinished download that did not come over TCP has that name",
    advice: "replace it over the socket (haul add), or give another name")

  private var inUse: TransferError {
    let other = reservations.reservedURL(of: key(name)).map { " of \($0.redacted)" } ?? ""
    return TransferError(
      .inUse,
      "another download\(other) writes to \(name.text)",
      advice: "leave one out, or give it another name"
    )
  }

  /// Finds the file that this download published just before a crash: its journal was not deleted.
  private func claimPublished() throws(TransferError) -> TargetClaim? {
    guard try hasJournal(name) else { return nil }
    return try reservations.search { () throws(TransferError) in
      guard let part = try acquire(name) else { return nil }
      if part.recovery.published { return claim(name, part) }
      release(part, name)
      return nil
    }
  }

  func hasJournal(_ name: FileName) throws(TransferError) -> Bool {
    try TargetCheck.state(of: try PartNames(name.text).journal, in: directory) != .absent
  }

  func claimNumbered() throws(TransferError) -> TargetClaim {
    try reservations.search(nextNumbered)
  }

  private func nextNumbered() throws(TransferError) -> TargetClaim {
    var number = max(reserved?.number ?? firstNumber, 1) - 1
    while true {
      number += 1
      let candidate = name.numbered(number)
      let state = try TargetCheck.state(of: candidate.text, in: directory, allowsOther: true)
      let isTaken = state != .absent
      if isTaken, try !hasJournal(candidate) { continue }
      guard let part = try acquire(candidate) else { continue }
      // The name is taken by its own file if a crash came just after publishing.
      if isOwn(part, candidate), !isTaken || part.recovery.published {
        return claim(candidate, part, number: number)
      }
      release(part, candidate)
    }
  }

  /// Whether the part is empty, or holds bytes of the address or of this transfer.
  func isOwn(_ part: PartFile, _ name: FileName) -> Bool {
    previous.owns(part, name, in: directory, of: request)
  }

  private func key(_ name: FileName) -> TargetReservations.Key {
    TargetReservations.Key(device: status.device, inode: status.inode, name: name.text)
  }

  /// The part file of a name; nil when another transfer of this manager has it.
  func acquire(_ name: FileName) throws(TransferError) -> PartFile? {
    guard reservations.hold(key(name), for: id, request.url) else { return nil }
    do throws(TransferError) {
      let part = try adopt(name)
      guard isPublishedByOther(part, name) else { return part }
      // The release deletes the journal, and then the file is one like any other.
      part.release()
      let second = try adopt(name)
      guard isPublishedByOther(second, name) else { return second }
      second.release()
      throw TransferError(
        .io,
        "the journal of another finished download cannot be removed: remove "
          + "\(name.text).haul.journal")
    } catch {
      reservations.release(key(name))
      throw error
    }
  }

  /// Whether another download published the file, and crashed before it deleted the journal.
  private func isPublishedByOther(_ part: PartFile, _ name: FileName) -> Bool {
    part.recovery.published && !isOwn(part, name)
  }

  private func adopt(_ name: FileName) throws(TransferError) -> PartFile {
    try PartFile.acquire(
      disk: disk, directory: directory, name: name.text, nonce: nonce,
      durability: request.durability, deferringJournalUpTo: Self.smallFile)
  }

  func release(_ part: PartFile, _ name: FileName) {
    part.release()
    reservations.release(key(name))
  }

  /// A file of up to this length (1 MiB) is fetched again after a crash.
  private static let smallFile: Int64 = 1 << 20

  func claim(_ name: FileName, _ part: PartFile, number: Int = 0) -> TargetClaim {
    part.setSourceURL(from: request.url)
    let replaced: TargetClaim.Replacement =
      request.isOfClient ? .ofClients(user: disk.effectiveUser) : .any
    return TargetClaim(
      directory: directory, name: name, part: part, wanted: self.name, number: number,
      replacement: request.ifExists == .overwrite ? replaced : .none, numbering: numbering,
      isUpdate: request.ifExists == .update, key: key(name))
  }
}

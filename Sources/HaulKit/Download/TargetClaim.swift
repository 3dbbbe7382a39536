import HaulCore
import HaulFiles

/// The final name of a download and the part file that will become it. Every call blocks:
/// `BlockingIO` makes them.
struct TargetClaim: Sendable {
  let directory: any DiskDirectory
  /// The name that the finished file gets, unless it is taken by then and another may be.
  let name: FileName
  let part: PartFile
  /// The name before any number was added.
  let wanted: FileName
  /// That number; 0 when there is none.
  var number = 0
  /// Files that may be the one that is asked for.
  var existing: [DownloadMachine.ExistingFile] = []
  /// Whether it is a conflict when none of them is.
  var needsExisting = false
  /// What a file under the name is replaced for.
  var replacement = Replacement.none
  /// When a number is added to the name.
  let numbering: Numbering
  /// Held in the book until the run has ended.
  let key: TargetReservations.Key

  enum Numbering: Sendable {
    case never
    /// When the name is taken by another file, but not by one of the same address.
    case besideOthers
    case always
  }

  enum Replacement: Sendable, Hashable {
    case none
    /// Whatever is there: it was asked for.
    case any
    /// The file that an earlier download of the address made, as long as it is as that left it.
    case own(FileRecord, user: UInt32)
  }

  /// Whether what is under the name now may be replaced. Blocks.
  var mayReplace: Bool {
    switch replacement {
    case .none: false
    case .any: true
    case .own(let record, let user):
      FileRecord.read(name.text, in: directory, user: user) == record
    }
  }

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
  /// - Throws: `not-a-regular-file`, `permission-denied`, `name-conflict`, `in-use`, `disk-full`,
  ///   `io`.
  static func make(
    for request: DownloadRequest, of id: TransferID, serverName: FileName? = nil,
    on disk: any Disk, nonce: [UInt8], book: TargetReservations
  ) throws(TransferError) -> Outcome {
    try TargetSearch(request, of: id, serverName, on: disk, nonce: nonce, book: book).find()
  }

  /// Finds the name of one that runs later, and keeps it for it: names follow the order of these
  /// calls.
  /// - Parameter count: how many files there are that would have the same name.
  /// - Throws: as `make`.
  static func reserve(
    for request: DownloadRequest, of id: TransferID, among count: Int, on disk: any Disk,
    nonce: [UInt8], book: TargetReservations
  ) throws(TransferError) {
    var search = try TargetSearch(request, of: id, nil, on: disk, nonce: nonce, book: book)
    search.farthest = count
    guard case .claimed(let claim) = try search.find() else { return }
    claim.part.release()
    book.reserve(claim.key, number: claim.number, for: id)
  }

  /// As `make` for a wanted name of which nothing is there, not even of an earlier run; nil, and
  /// nothing is held, for any other. It waits for no other search and reads no file.
  static func makeNew(
    for request: DownloadRequest, of id: TransferID, serverName: FileName? = nil,
    on disk: any Disk, nonce: [UInt8], book: TargetReservations
  ) throws(TransferError) -> TargetClaim? {
    try TargetSearch(request, of: id, serverName, on: disk, nonce: nonce, book: book).claimNew()
  }

  /// The next name to try when the wanted one was taken meanwhile.
  func nextFreeName() throws(TransferError) -> FileName {
    var number = 1
    while try TargetCheck.state(of: wanted.numbered(number).text, in: directory) != .absent {
      number += 1
    }
    return wanted.numbered(number)
  }
}

extension PartFile {
  /// Whether nothing is in the part, or bytes of this address.
  func isOf(_ url: ResourceURL) -> Bool {
    recovery.head?.isOf(url) ?? true
  }
}

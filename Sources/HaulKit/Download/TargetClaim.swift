import HaulCore
import HaulFiles

/// The final name of a download and the part file that will become it. Every call blocks: run it on
/// `BlockingIO`.
struct TargetClaim: Sendable {
  let directory: any DiskDirectory
  /// The final name; if it is taken by then, another one where that is allowed.
  let name: FileName
  let part: PartFile
  /// The name before any number was added.
  let wanted: FileName
  /// That number; 0 for none.
  var number = 0
  /// Existing files that may be the requested one.
  var existing: [DownloadMachine.ExistingFile] = []
  /// Whether it is a conflict if none of them is.
  var needsExisting = false
  /// Which existing file may be replaced.
  var replacement = Replacement.none
  /// When a number is added to the name.
  let numbering: Numbering
  /// Reserved until the run has ended.
  let key: TargetReservations.Key

  enum Numbering: Sendable {
    case never
    /// When the name is taken by a file of another address.
    case besideOthers
    case always
  }

  enum Replacement: Sendable, Hashable {
    case none
    /// Any file: the user asked for it.
    case any
    /// The file that an earlier download of the address made, if it is unchanged.
    case own(FileRecord, user: UInt32)
  }

  /// Whether the file that has the name now may be replaced. Blocks.
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
    /// A file exists and is accepted as the requested one.
    case alreadyThere(path: String, size: Int64, [Checksum])
  }

  var path: String { directory.filePath(name.text) }

  /// Finds the name, checks what exists there, and takes its part file for this process.
  /// - Parameters:
  ///   - serverName: overrides the name in the address; an exact path overrides both.
  ///   - book: where the target is reserved; the caller releases it at the end.
  /// - Throws: `not-a-regular-file`, `permission-denied`, `name-conflict`, `in-use`, `disk-full`,
  ///   `io`.
  static func make(
    for request: DownloadRequest, of id: TransferID, serverName: FileName? = nil,
    on disk: any Disk, nonce: [UInt8], book: TargetReservations
  ) throws(TransferError) -> Outcome {
    try TargetSearch(request, of: id, serverName, on: disk, nonce: nonce, book: book).find()
  }

  /// Finds and reserves the name of a download that runs later: names follow the order of these
  /// calls.
  /// - Parameter count: how many files would have the same name.
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

  /// As `make`, for a wanted name with no file and no part file. For any other it returns nil and
  /// reserves nothing. It waits for no other search and reads no file.
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
  /// Whether the part is empty or holds bytes of this address.
  func isOf(_ url: ResourceURL) -> Bool {
    recovery.head?.isOf(url) ?? true
  }
}

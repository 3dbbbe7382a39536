import HaulCore
import HaulFiles

/// The final name of a download and the part file that will become it. Every call blocks: run it on
/// `BlockingIO`.
struct TargetClaim: Sendable {
  let directory: any DiskDirectory
  /// The final name; if it is taken at publication and numbering allows it, the next free name.
  let name: FileName
  let part: PartFile
  /// The name before any number was added.
  let wanted: FileName
  /// That number; 0 for none.
  var number = 0
  /// Existing files that may be the requested file.
  var existing: [DownloadMachine.ExistingFile] = []
  /// Whether it is a conflict if none of them is the requested file.
  var needsExisting = false
  /// Which existing file may be replaced.
  var replacement = Replacement.none
  /// When a number is added to the name.
  let numbering: Numbering
  /// Whether the file is the newest version of its address, whichever run publishes it.
  let isUpdate: Bool
  /// Reserved until the run has ended.
  let key: TargetReservations.Key

  enum Numbering: Sendable {
    case never
    /// When the name is taken by a file of another address.
    case whenNameIsTaken
    case always
  }

  enum Replacement: Sendable, Hashable {
    case none
    /// Any file: the user asked for it.
    case any
    /// Any file of a client over TCP, if it is unchanged: a client asked for it.
    case ofClients(user: UInt32)
    /// The file that an earlier download of the address made, if it is unchanged.
    case own(FileRecord, user: UInt32)
  }

  /// Whether the file that has the name now may be replaced. Blocks.
  var mayReplace: Bool {
    switch replacement {
    case .none: false
    case .any: true
    case .ofClients(let user):
      FileRecord.read(name.text, in: directory, user: user)?.isOfClient == true
    case .own(let record, let user):
      FileRecord.read(name.text, in: directory, user: user) == record
    }
  }

  enum Outcome: Sendable {
    case claimed(TargetClaim)
    /// A file exists and is accepted as the requested one.
    case alreadyExists(path: String, size: Int64, [Checksum])
  }

  /// Whether it can still be published if the name was taken meanwhile.
  var mayOutliveConflict: Bool { isUpdate || numbering != .never }

  var path: String { directory.filePath(name.text) }

  /// The next name to try when the wanted one was taken meanwhile.
  func nextFreeName() throws(TransferError) -> FileName {
    var number = 1
    while try TargetCheck.state(
      of: wanted.numbered(number).text, in: directory, allowsOther: true) != .absent
    {
      number += 1
    }
    return wanted.numbered(number)
  }
}

import FoundationEssentials
package import HaulCore

/// What a later run needs of one upload, in a file of its own. While it is open, no other process
/// uploads the same file to the same address.
package final class UploadRecordFile: Sendable {
  /// What an earlier run stored; nil if there is nothing, or nothing that can be read.
  package let record: UploadRecord?
  /// Whether there is one that cannot be read.
  package let isDamaged: Bool
  private let lock: JournalLock
  private let directory: any DiskDirectory
  private let name: String

  /// Opens the file of an upload, and creates it if there is none.
  /// - Throws: `in-use`, `permission-denied`, `io`.
  package init(
    of request: UploadRequest, in directory: String, on disk: any Disk
  ) throws(TransferError) {
    self.directory = try TargetCheck.openDirectory(directory, on: disk, creating: true)
    name = request.recordName
    do {
      lock = try JournalLock.take(name, in: self.directory, user: disk.effectiveUser)
    } catch  where error.code == .inUse {
      throw TransferError(
        .inUse, "another haul uploads this file to this address",
        advice: "wait for it: both would go on with one record, and send the same parts")
    }
    let bytes = Self.read(lock.file)
    record = try? JSONDecoder().decode(UploadRecord.self, from: bytes)
    isDamaged = record == nil && !bytes.isEmpty
  }

  /// Opens the file of an upload; nil if there is none.
  /// - Throws: as the initialiser.
  package static func existing(
    of request: UploadRequest, in directory: String, on disk: any Disk
  ) throws(TransferError) -> UploadRecordFile? {
    let place = try TargetCheck.openDirectory(directory, on: disk, creating: true)
    let status = try mapping("look for the upload's record") { () throws(DiskError) in
      try place.status(of: request.recordName)
    }
    return status == nil ? nil : try UploadRecordFile(of: request, in: directory, on: disk)
  }

  /// Stores the record; it survives a power cut once this returns.
  /// - Throws: `disk-full`, `io`.
  package func store(_ record: UploadRecord) throws(TransferError) {
    do throws(TransferError) {
      try write(record)
    } catch {
      guard error.code == .diskFull else { throw error }
      throw TransferError(
        .diskFull, "no room to store the upload's address",
        advice: "free some space and upload it again")
    }
  }

  private func write(_ record: UploadRecord) throws(TransferError) {
    var bytes: [UInt8]
    do {
      bytes = Array(try JSONEncoder().encode(record))
    } catch {
      throw TransferError(.internal, "the upload's record cannot be encoded")
    }
    let (file, directory) = (lock.file, directory)
    let action = "store the upload's address"
    // A shorter one is padded with spaces: to cut the file is another call, and a kill between the
    // two would leave no record.
    let length = try mapping(action, file.status().size)
    bytes += [UInt8](repeating: 0x20, count: max(0, Int(length) - bytes.count))
    var failure: TransferError?
    bytes.withUnsafeBytes { buffer in
      do throws(TransferError) {
        try FileWriter.writeAll(buffer, to: file, at: 0, action)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    try mapping(action) { () throws(DiskError) in
      try file.sync()
      try directory.syncIfPossible()
    }
  }

  /// Forgets the record.
  package func clear() {
    // One that stays is of an upload that the server no longer has; the next run finds that out.
    try? lock.file.truncate(to: 0)
  }

  /// Deletes the file, and closes it.
  package func remove() {
    // One that stays is ignored: the server no longer has its upload, or has it whole.
    try? directory.unlink(name)
    lock.file.close()
  }

  /// Closes the file. One without a record is deleted.
  package func close() {
    if let status = try? lock.file.status(), status.size == 0 { return remove() }
    lock.file.close()
  }

  private static let maximumSize = 64 << 10

  private static func read(_ file: any DiskFile) -> Data {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: maximumSize, alignment: 1)
    defer { buffer.deallocate() }
    // What cannot be read is as one that is not there.
    guard let count = try? file.read(into: buffer, at: 0), count > 0 else { return Data() }
    return Data(buffer[..<count])
  }
}

import HaulCore
import HaulFiles

/// `--if-exists update`: what the same command again means
/// (docs/decisions/014-the-same-command-again.md).
extension TargetSearch {
  /// The file that an earlier download of this address made is brought up to date; any other is
  /// left alone.
  func update(isFree: Bool) throws(TransferError) -> TargetClaim.Outcome {
    let files = try filesThere()
    if !request.checksums.isEmpty {
      for file in files where try request.checksums.mismatch(with: digests(of: file)) == nil {
        return .alreadyThere(path: file.path, size: file.size, request.checksums)
      }
    }
    // The first may be that of another transfer of this run.
    for own in files {
      guard let record = own.record, record.isOf(request.url), let part = try acquire(own.name)
      else { continue }
      if isExact || part.isOf(request.url) {
        var claim = claim(own.name, part, number: own.number)
        claim.replacement = .own(record, user: disk.effectiveUser)
        if request.checksums.isEmpty { claim.existing = [own.existing] }
        return .claimed(claim)
      }
      release(part, own.name)
    }
    // With a digest none of them is the one.
    if isExact, !request.checksums.isEmpty { throw Self.conflict }
    if isFree { return .claimed(try book.search(claimFree)) }
    var claim = isExact ? try claimWanted() : try claimNumbered()
    if request.checksums.isEmpty {
      // What Haul made of another address is not this one, whatever its date.
      claim.existing = files.filter { $0.record == nil }.map(\.existing)
      // Where files cannot be marked, each run would make one more.
      claim.needsExisting = isExact || (files.count > 1 && !canMarkFiles)
    }
    return .claimed(claim)
  }

  /// Whether files of this file system have attributes.
  private var canMarkFiles: Bool {
    guard let file = try? directory.open(name.text, writing: false) else { return true }
    defer { file.close() }
    do throws(DiskError) {
      _ = try file.attribute()
      return true
    } catch {
      return false
    }
  }

  /// A regular file under the wanted name, or one that has a number.
  private struct ExistingTarget {
    let number: Int
    let name: FileName
    let path: String
    let size: Int64
    let modified: Double
    /// What Haul put down when it made the file, if it is as it was left.
    let record: FileRecord?

    var existing: DownloadMachine.ExistingFile {
      .init(
        path: path, size: size, modified: modified, entityTag: record?.entityTag,
        isUnsure: record?.isUnsure ?? false)
    }
  }

  /// The file under the wanted name, and, where numbers are added, those up to the first number
  /// behind `farthest` that is free.
  private func filesThere() throws(TransferError) -> [ExistingTarget] {
    var files: [ExistingTarget] = []
    var number = 0
    while true {
      let candidate = number == 0 ? name : name.numbered(number)
      let state = try TargetCheck.state(of: candidate.text, in: directory)
      if case .regular(let size, let modified) = state {
        files.append(
          ExistingTarget(
            number: number, name: candidate, path: directory.filePath(candidate.text), size: size,
            modified: modified,
            record: FileRecord.read(candidate.text, in: directory, user: disk.effectiveUser)))
      }
      if isExact || (state == .absent && number >= farthest) { return files }
      number += 1
    }
  }

  private func digests(of file: ExistingTarget) throws(TransferError) -> [Checksum] {
    try FileVerifier.digests(
      request.checksums.map(\.algorithm), of: file.name.text, size: file.size, in: directory)
  }
}

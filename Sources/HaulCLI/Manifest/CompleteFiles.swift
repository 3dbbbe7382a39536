import HaulControl
package import HaulCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The manifest of a run.
package struct RunManifest: Hashable, Sendable {
  package let path: String
  /// How the user has named it.
  let name: String
  /// How many files of the input are complete, so that they are left out.
  package fileprivate(set) var complete = 0
  /// Why it cannot be read.
  package fileprivate(set) var problem: TransferError?
}

/// What of an input its manifest has as complete. A manifest may be longer than the memory: of each
/// line only the place is held.
final class CompleteFiles {
  private(set) var manifest: RunManifest
  /// In another directory, the same relative path is another file.
  private let directory = WorkingDirectory.path
  /// Nil if there is no manifest yet.
  private var descriptor: Int32?
  /// Of the last line of each file, if that says that it is complete: where the line begins, and
  /// how many runs had begun, in one number.
  private var places: [UInt64: UInt64] = [:]
  /// The same of the last complete file with a target that had one before.
  private var latest: [UInt64: UInt64] = [:]
  /// A bit for each target: it fits into a cache, as a table of all targets does not.
  private var seen = [UInt64](repeating: 0, count: 1 << 18)
  /// When a run last said that it may have replaced a newer version of a file with an older one.
  private var doubts: [UInt64: Double] = [:]
  private var size: UInt64 = 0
  private var runs: UInt64 = 0
  /// Bytes of the manifest: the input mostly has its files in the same order.
  private var piece: (offset: Int64, bytes: [UInt8]) = (0, [])

  private static let runBits: UInt64 = 24
  private static let pieceSize = 32 << 10
  private static let usualLine = 300

  /// Reads what a manifest says. If it cannot be read, nothing is complete, and the problem is in
  /// `manifest`.
  /// - Parameter name: how the user has named it; nil for its path.
  init(by path: String, named name: String? = nil) {
    manifest = RunManifest(path: path, name: name ?? path)
    do throws(TransferError) {
      var status = stat()
      guard lstat(path, &status) == 0 || errno != ENOENT else { return }
      let descriptor = try ManifestFile.openedOwn(path, O_RDONLY)
      self.descriptor = descriptor
      places.reserveCapacity(min(Int(status.st_size) / Self.usualLine, 1 << 21))
      try ManifestFile.forEachLine(of: descriptor, path) { take($0) }
    } catch {
      manifest.problem = name == nil ? error : error.prefixed("\(manifest.name): ")
    }
  }

  deinit {
    if let descriptor { _ = close(descriptor) }  // nothing was written
  }

  /// As `ManifestSum`: by how many runs had begun.
  /// - Returns: whether it is a line of a manifest.
  private func take(_ line: ArraySlice<UInt8>) -> Bool {
    defer { size += UInt64(line.count) + 1 }
    guard let (id, isComplete) = ManifestLine.end(line) else {
      guard ManifestLine.files(line) != nil else { return false }
      runs = min(runs + 1, 1 << Self.runBits - 1)
      return true
    }
    let values = LineValues(line)
    if isComplete {
      if let doubt = doubts[id.low] {
        guard let time = values.number("time"), time > doubt else { return true }
        doubts[id.low] = nil
      }
      let place = size << Self.runBits | runs
      places[id.low] = place
      if let target = values.quoted("target") { note(Self.key(ofTarget: target), place) }
    } else if values.text("code") == TransferError.Code.sourceChanged.rawValue {
      doubts[id.low] = values.number("time") ?? .infinity
      places[id.low] = nil
    } else if let place = places[id.low], place & (1 << Self.runBits - 1) < runs {
      places[id.low] = nil
    }
    return true
  }

  /// Few keys that were not seen have the bit of another one: an entry more does no harm.
  private func note(_ target: UInt64, _ place: UInt64) {
    let (word, bit) = (Int((target >> 24) & (1 << 18 - 1)), UInt64(1) << (target >> 58))
    if seen[word] & bit == 0 { seen[word] |= bit } else { latest[target] = place }
  }

  /// FNV-1a, mixed, of 64 bits. Of two targets with one number, the first is asked for again.
  private static func key(ofTarget target: ArraySlice<UInt8>) -> UInt64 {
    target.withUnsafeBytes { bytes in
      var key: UInt64 = 0xCBF2_9CE4_8422_2325
      for byte in bytes { key = (key ^ UInt64(byte)) &* 0x100_0000_01B3 }
      // The last bytes have changed few of its bits.
      key = (key ^ key >> 33) &* 0xFF51_AFD7_ED55_8CCD
      return key ^ key >> 33
    }
  }

  /// Whether nothing is left to do for a request, which is then left out.
  func leaveOut(_ request: @autoclosure () -> TransferRequest) -> Bool {
    guard !places.isEmpty, let descriptor else { return false }
    do throws(TransferError) {
      var request = request()
      if request.hasRelativePath {
        request = try WorkingDirectory.resolve([request], in: directory)[0]
      }
      let id = ManifestLine.ID(of: request)
      guard let place = places[id.low] else { return false }
      let line = try line(at: Int64(place >> Self.runBits), of: descriptor)
      // Two files may have the same half of an id: then both are asked for.
      guard ManifestLine.end(line)?.id == id, request.isSettled(by: line) else { return false }
      // Another source may have gone to the target since.
      if !latest.isEmpty, request.namesTarget, let target = LineValues(line).quoted("target"),
        let last = latest[Self.key(ofTarget: target)],
        last >> Self.runBits > place >> Self.runBits
      {
        return false
      }
      manifest.complete += 1
      return true
    } catch {
      manifest.problem = error
      return false
    }
  }

  private func line(
    at offset: Int64, of descriptor: Int32
  ) throws(TransferError) -> ArraySlice<UInt8> {
    if let line = line(at: offset) { return line }
    // Files that run at the same time end in another order.
    let first = max(0, offset - Int64(Self.pieceSize / 4))
    var size = Self.pieceSize
    repeat {
      guard let bytes = FileLines.bytes(of: descriptor, first, size) else {
        throw ManifestFile.error(manifest.path, "cannot be read", errno)
      }
      piece = (first, bytes)
      if let line = line(at: offset) { return line }
      size *= 2
    } while size == 2 * piece.bytes.count
    throw TransferError(.io, "the manifest \(manifest.path) was made shorter", advice: "run again")
  }

  /// Nil if the piece has not all of it.
  private func line(at offset: Int64) -> ArraySlice<UInt8>? {
    let start = Int(offset - piece.offset)
    guard piece.bytes.indices.contains(start) else { return nil }
    return FileLines.lineBreak(in: piece.bytes, start..<piece.bytes.count)
      .map { piece.bytes[start..<$0] }
  }
}

extension TransferRequest {
  /// Whether a line that says that it is complete still holds: a file of this machine must be there
  /// with its length, a digest that is asked for must have been checked, and an unverified file
  /// must be allowed. One that was sent must be as it was.
  fileprivate func isSettled(by line: ArraySlice<UInt8>) -> Bool {
    let values = LineValues(line)
    if let path = localSource {
      guard upload?.isDirectory == false else { return true }
      guard let version = ManifestFile.version(of: path) else { return false }
      return (values.integer("bytes"), values.number("modified")) == (
        version.size, version.modified
      )
    }
    let checksums = download?.checksums ?? upload?.download?.checksums ?? []
    guard checksums.isEmpty || checksums.map(\.description) == [values.text("checksum")] else {
      return false
    }
    guard let download else { return true }
    let proof = values.text("verified").map { TransferResult.Verification(rawValue: $0) }
    guard download.allowUnverified || proof.map({ $0 ?? .unverified }) != .unverified,
      let path = values.text("path"), let bytes = values.integer("bytes")
    else { return false }
    return ManifestFile.isThere(path, bytes: bytes)
  }
}

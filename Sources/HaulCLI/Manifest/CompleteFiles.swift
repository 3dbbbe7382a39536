import HaulControl
package import HaulCore
import HaulLibC

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

/// What of an input its manifest has as complete.
final class CompleteFiles {
  private(set) var manifest: RunManifest
  /// In another directory, the same relative path is another file.
  private let directory = WorkingDirectory.path
  /// Nil if there is no manifest yet.
  private var index: ManifestIndex?
  /// The line of the last complete file with a target that had one before.
  private var latest: [UInt64: Int] = [:]
  /// A bit for each target: it fits into a cache, as a table of all targets does not.
  private var seen = [UInt64](repeating: 0, count: 1 << 18)

  /// Reads what a manifest says. If it cannot be read, nothing is complete, and the problem is in
  /// `manifest`.
  /// - Parameter name: how the user has named it; nil for its path.
  init(by path: String, named name: String? = nil) {
    manifest = RunManifest(path: path, name: name ?? path)
    do throws(TransferError) {
      var status = stat()
      guard lstat(path, &status) == 0 || errno != ENOENT else { return }
      let index = ManifestIndex()
      let text = try ManifestText(path, try ManifestFile.openedOwn(path, O_RDONLY))
      _ = try index.add(text) { line, number in
        if let target = line.quoted("target") { note(Self.key(ofTarget: target), number) }
      }
      self.index = index
    } catch {
      manifest.problem = name == nil ? error : error.prefixed("\(manifest.name): ")
    }
  }

  /// Few keys that were not seen have the bit of another one: an entry more does no harm.
  private func note(_ target: UInt64, _ number: Int) {
    let (word, bit) = (Int((target >> 24) & (1 << 18 - 1)), UInt64(1) << (target >> 58))
    if seen[word] & bit == 0 { seen[word] |= bit } else { latest[target] = number }
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
    guard let index else { return false }
    do throws(TransferError) {
      var request = request()
      if request.hasRelativePath {
        request = try WorkingDirectory.resolve([request], in: directory)[0]
      }
      guard let (number, line) = try index.complete(ManifestLine.ID(of: request)),
        request.isSettled(by: line)
      else { return false }
      // Another source may have gone to the target since.
      if !latest.isEmpty, request.namesTarget, let target = LineValues(line).quoted("target"),
        let last = latest[Self.key(ofTarget: target)], last > number
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
}

extension TransferRequest {
  /// Whether a line that says that it is complete still holds: a file of this machine must be there
  /// with its length and its date, a digest that is asked for must have been checked, and an
  /// unverified file must be allowed.
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
      let path = values.text("path"), let bytes = values.integer("bytes"),
      let modified = values.number("modified")
    else { return false }
    return ManifestFile.isThere(path, .init(size: bytes, modified: modified))
  }
}

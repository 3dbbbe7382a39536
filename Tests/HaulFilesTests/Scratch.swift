import FoundationEssentials
import HaulCore
import HaulFiles
import Testing

/// A separate directory on the real file system, removed at the end.
final class Scratch {
  let path: String
  let disk = POSIXDisk()
  let directory: any DiskDirectory

  init() throws {
    let base = FileManager.default.temporaryDirectory.path
    path = base + "/haul-files-\(UInt64.random(in: 0 ... .max))"
    directory = try disk.openDirectory(path, creating: true)
  }

  deinit {
    // Files that a test leaves in the temporary directory are no failure.
    try? FileManager.default.removeItem(atPath: path)
  }

  func names() throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: path))
  }

  func put(_ bytes: [UInt8], as name: String, mode: Int = 0o600) throws {
    try Data(bytes).write(to: URL(filePath: "\(path)/\(name)"))
    try FileManager.default.setAttributes(
      [.posixPermissions: mode], ofItemAtPath: "\(path)/\(name)")
  }

  func contents(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(filePath: "\(path)/\(name)")))
  }

  func acquire(
    _ name: String = "file.iso", durability: DownloadRequest.Durability = .strict, nonce: UInt8 = 1
  ) throws -> PartFile {
    try PartFile.acquire(
      disk: disk, directory: directory, name: name, nonce: Array(repeating: nonce, count: 16),
      durability: durability)
  }
}

func sampleHead(
  _ length: Int64?, tag: String = "\"a\"", announced: Checksum? = nil
) throws -> JournalHead {
  JournalHead(
    url: try ResourceURL("https://example.com/file.iso?token=secret"),
    validator: Validator(entityTag: tag, lastModified: nil, lastModifiedIsStrong: false),
    length: length, announced: announced)
}

/// Bytes that any shift or swap changes.
func sampleBytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
  var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
  return (0..<count).map { _ in
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return UInt8(truncatingIfNeeded: state >> 24)
  }
}

extension PartFile {
  /// Writes a part of `content` through its own writer, and claims it.
  func write(_ range: Range<Int>, of content: [UInt8], claiming: Bool = true) throws {
    var writer = try writer(at: Int64(range.lowerBound), now: Instant())
    try write([Array(content[range])], with: &writer, now: Instant())
    if claiming { try claim(&writer) }
  }
}

extension [UInt8] {
  /// Whether both have the range, with equal bytes.
  func agrees(with other: [UInt8], in range: ByteRange) -> Bool {
    let range = Int(range.lowerBound)..<Int(range.upperBound)
    return range.upperBound <= Swift.min(count, other.count) && self[range] == other[range]
  }
}

/// The code of the `TransferError` that `body` throws; nil if it throws none.
func code(_ body: () throws -> Void) throws -> TransferError.Code? {
  do {
    try body()
    return nil
  } catch let error as TransferError {
    return error.code
  }
}

/// The message of the `TransferError` that `body` throws; nil if it throws none.
func message(_ body: () throws -> Void) throws -> String? {
  do {
    try body()
    return nil
  } catch let error as TransferError {
    return error.message
  }
}

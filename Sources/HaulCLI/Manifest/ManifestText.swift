import HaulCore
import HaulLibC

/// A manifest that is read: a file, or what a store has sent.
struct ManifestPlace: Sendable {
  /// Its path, or its address.
  let name: String
  let sent: SentText?

  init(_ name: String, _ sources: CommandSources) { (self.name, sent) = (name, sources.sent[name]) }
}

/// A manifest whose lines are read again by their numbers. Of every sixteen lines, only the place
/// of the first one is held.
final class ManifestText {
  let path: String
  /// The number of its first line: lines of several manifests are counted together.
  var first = 0
  private(set) var count = 0
  private var starts: [Int64] = []
  private var size: Int64 = 0
  private let sent: SentText?
  private var descriptor: Int32?
  private var status = stat()
  /// Some of its bytes: lines are mostly read in their order.
  private var piece: (offset: Int64, bytes: [UInt8]) = (0, [])
  /// Where the line after the last one that was read begins.
  private var next: (line: Int, offset: Int64) = (0, 0)

  private static let pieceSize = 32 << 10
  private static let blockSize = 16

  init(_ place: ManifestPlace) throws(TransferError) {
    (path, sent) = (place.name, place.sent)
    if sent == nil { try take(try ManifestFile.opened(path)) }
  }

  /// - Parameter descriptor: it is closed.
  init(_ path: String, _ descriptor: Int32) throws(TransferError) {
    (self.path, sent) = (path, nil)
    try take(descriptor)
  }

  private func take(_ descriptor: Int32) throws(TransferError) {
    self.descriptor = descriptor
    guard fstat(descriptor, &status) == 0 else { throw unreadable }
  }

  deinit { close() }

  /// Until it is read again.
  func close() {
    if let descriptor { _ = HaulLibC.close(descriptor) }  // nothing was written
    descriptor = nil
  }

  private func read(_ offset: Int64, _ count: Int) throws(TransferError) -> [UInt8] {
    if let sent {
      do {
        return try sent.read(offset, count)
      } catch {
        throw TransferError(.io, "the manifest \(path): \(error.message)")
      }
    }
    guard let bytes = FileLines.bytes(of: try open(), offset, count) else { throw unreadable }
    return bytes
  }

  private func open() throws(TransferError) -> Int32 {
    if let descriptor { return descriptor }
    let before = status
    try take(try ManifestFile.opened(path))
    guard let descriptor, status.st_ino == before.st_ino, status.st_dev == before.st_dev else {
      throw changed
    }
    return descriptor
  }

  private var unreadable: TransferError { ManifestFile.error(path, "cannot be read", errno) }

  private var changed: TransferError {
    TransferError(.io, "the manifest \(path) changed while it was read", advice: "run again")
  }

  /// Numbers its lines.
  /// - Parameter take: gets each line without its line break, and says whether it is one of a
  ///   manifest.
  /// - Throws: also for a file that is no manifest.
  func number(
    _ take: (ArraySlice<UInt8>) throws(TransferError) -> Bool
  ) throws(TransferError) {
    var entries = 0
    let rest = try forEachLine { (line) throws(TransferError) in
      if count % Self.blockSize == 0 { starts.append(size) }
      count += 1
      size += Int64(line.count) + 1
      if try take(line) { entries += 1 }
    }
    // One that was not written to its end, or not begun, has lost nothing.
    guard entries > 0 || count == 0 && ManifestLine.mayBegin(rest) else {
      throw TransferError(.io, "\(path) is no manifest", advice: "give what get --manifest wrote")
    }
  }

  /// Passes the lines that were numbered once more; what was appended since does not count.
  func forEach(
    _ take: (_ number: Int, ArraySlice<UInt8>) throws(TransferError) -> Void
  ) throws(TransferError) {
    var line = 0
    _ = try forEachLine { (text) throws(TransferError) in
      if line < count { try take(first + line, text) }
      line += 1
    }
    guard line >= count else { throw changed }
  }

  private func forEachLine(
    _ take: (ArraySlice<UInt8>) throws(TransferError) -> Void
  ) throws(TransferError) -> [UInt8] {
    try FileLines.forEach(
      reading: { (offset, count) throws(TransferError) in try read(offset, count) }, take)
  }

  /// A line that was numbered.
  func line(_ number: Int) throws(TransferError) -> ArraySlice<UInt8> {
    let line = number - first
    if next.line != line {
      next = (line - line % Self.blockSize, starts[line / Self.blockSize])
    }
    var text = ArraySlice<UInt8>()
    while next.line <= line {
      text = try self.text(at: next.offset)
      next = (next.line + 1, next.offset + Int64(text.count) + 1)
    }
    return text
  }

  private func text(at offset: Int64) throws(TransferError) -> ArraySlice<UInt8> {
    if let text = textOfPiece(at: offset) { return text }
    // Files that run at the same time end in another order.
    let first = max(0, offset - Int64(Self.pieceSize / 4))
    var size = Self.pieceSize
    repeat {
      piece = (first, try read(first, size))
      if let text = textOfPiece(at: offset) { return text }
      size *= 2
    } while size == 2 * piece.bytes.count
    throw changed
  }

  /// Nil if the piece has not all of it.
  private func textOfPiece(at offset: Int64) -> ArraySlice<UInt8>? {
    let start = Int(offset - piece.offset)
    guard piece.bytes.indices.contains(start) else { return nil }
    return FileLines.lineBreak(in: piece.bytes, start..<piece.bytes.count)
      .map { piece.bytes[start..<$0] }
  }
}

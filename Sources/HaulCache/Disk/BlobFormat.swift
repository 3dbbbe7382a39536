package import FoundationEssentials
import HaulFiles

/// The bytes of a blob file: a prefix of fixed length, the head as JSON, and the body.
///
/// | offset | bytes | content, little-endian |
/// |---|---|---|
/// | 0 | 8 | `HAULBLB1` |
/// | 8 | 4 | length of the head |
/// | 12 | 4 | CRC32C of the head |
/// | 16 | 8 | length of the body |
/// | 24 | 4 | CRC32C of the body |
/// | 28 | 4 | CRC32C of the 28 bytes before |
package enum BlobFormat {
  package static let prefixLength = 32
  private static let magic = Array("HAULBLB1".utf8)
  /// A longer head is not one of ours.
  private static let maximumHead = 1 << 20

  package struct Prefix: Hashable, Sendable {
    package let headLength: Int
    package let headChecksum: UInt32
    package let bodyLength: Int
    package let bodyChecksum: UInt32

    package var fileLength: Int { BlobFormat.prefixLength + headLength + bodyLength }
  }

  /// The bytes before the body.
  package static func start(of blob: Blob) throws -> Data {
    let head = try JSONEncoder().encode(blob.head)
    var bytes = Data(magic)
    bytes.append(UInt32(head.count))
    bytes.append(checksum(head))
    bytes.append(UInt64(blob.body.count))
    bytes.append(checksum(blob.body))
    bytes.append(checksum(bytes))
    return bytes + head
  }

  /// Nil if these are not the first bytes of a blob.
  package static func prefix(_ bytes: Data) -> Prefix? {
    guard bytes.count >= prefixLength else { return nil }
    let bytes = Data(bytes.prefix(prefixLength))
    guard Array(bytes.prefix(8)) == magic,
      bytes.number(at: 28, UInt32.self) == checksum(Data(bytes.prefix(28)))
    else { return nil }
    let (head, body) = (bytes.number(at: 8, UInt32.self), bytes.number(at: 16, UInt64.self))
    guard head <= maximumHead, body <= UInt64(Int.max / 2) else { return nil }
    return Prefix(
      headLength: Int(head), headChecksum: bytes.number(at: 12, UInt32.self),
      bodyLength: Int(body), bodyChecksum: bytes.number(at: 24, UInt32.self))
  }

  /// The head in the bytes after the prefix; nil if it is damaged.
  package static func head(_ bytes: Data, _ prefix: Prefix) -> BlobHead? {
    guard bytes.count == prefix.headLength, checksum(bytes) == prefix.headChecksum else {
      return nil
    }
    return try? JSONDecoder().decode(BlobHead.self, from: bytes)
  }

  /// The blob in a whole file; nil if a byte is missing, too many, or wrong.
  package static func blob(_ file: Data) -> Blob? {
    guard let prefix = prefix(file), file.count == prefix.fileLength,
      let head = head(Data(file.dropFirst(prefixLength).prefix(prefix.headLength)), prefix)
    else { return nil }
    let body = Data(file.suffix(prefix.bodyLength))
    return checksum(body) == prefix.bodyChecksum ? Blob(head: head, body: body) : nil
  }

  private static func checksum(_ bytes: Data) -> UInt32 {
    var crc = CRC32C()
    bytes.withUnsafeBytes { crc.update($0) }
    return crc.value
  }
}

extension Data {
  fileprivate mutating func append(_ number: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
  }

  fileprivate func number<Number: FixedWidthInteger>(at offset: Int, _: Number.Type) -> Number {
    withUnsafeBytes {
      Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Number.self))
    }
  }
}

import FoundationEssentials
import HaulCore

/// The layout of a journal file. All integers are little-endian.
package enum JournalFormat {
  package static let magic = Array("HAULJRNL".utf8)
  package static let version: UInt32 = 1
  /// Magic, version, and the CRC32C of both.
  package static let headerLength = 16
  /// Type and length before the payload, CRC32C after it.
  package static let frameLength = 9
  package static let maximumPayload = 1 << 24

  package static func header(version: UInt32 = version) -> [UInt8] {
    let bytes = magic + version.littleEndianBytes
    return bytes + CRC32C.of(bytes).littleEndianBytes
  }

  /// A record's checksum continues that of the record (or header) before it, so a record is valid
  /// only at its own position.
  static func checksum(_ bytes: some Sequence<UInt8>, after previous: UInt32) -> UInt32 {
    var crc = CRC32C()
    crc.update(previous.littleEndianBytes + bytes)
    return crc.value
  }
}

extension FixedWidthInteger {
  var littleEndianBytes: [UInt8] {
    (0..<(Self.bitWidth / 8)).map { UInt8(truncatingIfNeeded: self >> Self($0 * 8)) }
  }

  init(littleEndian bytes: some Collection<UInt8>) {
    self = bytes.reversed().reduce(0) { $0 << 8 | Self(truncatingIfNeeded: $1) }
  }
}

extension JournalRecord {
  enum Kind: UInt8 {
    case head = 1
    case run, written, syncing, durable, void, publishing, placeholder, rejected, unproved
  }

  var kind: Kind {
    switch self {
    case .head: .head
    case .run: .run
    case .written: .written
    case .syncing: .syncing
    case .durable: .durable
    case .void: .void
    case .publishing: .publishing
    case .placeholder: .placeholder
    case .rejected: .rejected
    case .unproved: .unproved
    }
  }

  /// The record as stored in the file.
  /// - Parameter crc: the checksum before the record; becomes that of the record.
  func framed(after crc: inout UInt32) throws(TransferError) -> [UInt8] {
    let payload = try payload()
    let bytes = [kind.rawValue] + UInt32(payload.count).littleEndianBytes + payload
    crc = JournalFormat.checksum(bytes, after: crc)
    return bytes + crc.littleEndianBytes
  }

  private func payload() throws(TransferError) -> [UInt8] {
    switch self {
    case .head(let head):
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      do {
        return Array(try encoder.encode(head))
      } catch {
        throw TransferError(.internal, "the journal's head cannot be encoded")
      }
    case .run(let run):
      return run.nonce + run.mountID.littleEndianBytes + run.part.bytes + Array(run.bootID.utf8)
    case .written(let extents):
      return extents.flatMap {
        $0.offset.littleEndianBytes + $0.length.littleEndianBytes + $0.crc.littleEndianBytes
      }
    case .syncing(let count), .durable(let count):
      return count.littleEndianBytes
    case .void(let ranges):
      return ranges.flatMap { $0.lowerBound.littleEndianBytes + $0.upperBound.littleEndianBytes }
    case .publishing(let publication):
      return publication.length.littleEndianBytes + publication.part.bytes
        + Array(publication.name.utf8)
    case .placeholder(let identity):
      return identity.bytes
    case .rejected(let checksum):
      return Array(checksum.description.utf8)
    case .unproved:
      return []
    }
  }

  /// Reads a payload with a correct checksum; nil if this version does not know the record.
  init?(type: UInt8, payload: ArraySlice<UInt8>) {
    guard let kind = Kind(rawValue: type) else { return nil }
    var fields = PayloadReader(rest: payload)
    switch kind {
    case .head:
      // A header that cannot be decoded is of another version.
      guard let head = try? JSONDecoder().decode(JournalHead.self, from: Data(payload)) else {
        return nil
      }
      self = .head(head)
    case .run:
      guard let nonce = fields.bytes(16), let mountID = fields.integer(UInt64.self),
        let part = fields.identity()
      else { return nil }
      self = .run(
        JournalRun(nonce: Array(nonce), mountID: mountID, part: part, bootID: fields.text()))
    case .written:
      guard let extents = fields.all({ $0.extent() }) else { return nil }
      self = .written(extents)
    case .syncing, .durable:
      guard let count = fields.integer(UInt64.self), fields.rest.isEmpty else { return nil }
      self = kind == .syncing ? .syncing(count) : .durable(count)
    case .void:
      guard let ranges = fields.all({ $0.ordinals() }) else { return nil }
      self = .void(ranges)
    case .publishing:
      guard let length = fields.integer(Int64.self), let part = fields.identity() else {
        return nil
      }
      self = .publishing(Publication(length: length, part: part, name: fields.text()))
    case .placeholder:
      guard let identity = fields.identity() else { return nil }
      self = .placeholder(identity)
    case .rejected:
      guard let checksum = Checksum(fields.text()) else { return nil }
      self = .rejected(checksum)
    case .unproved:
      guard fields.rest.isEmpty else { return nil }
      self = .unproved
    }
  }
}

extension FileIdentity {
  fileprivate var bytes: [UInt8] { device.littleEndianBytes + inode.littleEndianBytes }
}

/// Reads the fields of a payload in order.
private struct PayloadReader {
  var rest: ArraySlice<UInt8>

  mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
    guard rest.count >= count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  mutating func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer? {
    bytes(Integer.bitWidth / 8).map { Integer(littleEndian: $0) }
  }

  mutating func identity() -> FileIdentity? {
    guard let device = integer(UInt64.self), let inode = integer(UInt64.self) else { return nil }
    return FileIdentity(device: device, inode: inode)
  }

  mutating func extent() -> Extent? {
    guard let offset = integer(Int64.self), let length = integer(UInt32.self),
      let crc = integer(UInt32.self), offset >= 0, length > 0,
      length <= UInt32(Extent.maximumLength), offset <= .max - Int64(length)
    else { return nil }
    return Extent(offset: offset, length: length, crc: crc)
  }

  mutating func ordinals() -> Range<UInt64>? {
    guard let lower = integer(UInt64.self), let upper = integer(UInt64.self), lower <= upper else {
      return nil
    }
    return lower..<upper
  }

  mutating func text() -> String {
    defer { rest = [] }
    return String(decoding: rest, as: UTF8.self)
  }

  mutating func all<Field>(_ next: (inout PayloadReader) -> Field?) -> [Field]? {
    var fields: [Field] = []
    while !rest.isEmpty {
      guard let field = next(&self) else { return nil }
      fields.append(field)
    }
    return fields
  }
}

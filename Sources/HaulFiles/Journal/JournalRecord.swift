package import HaulCore

/// Consecutive written bytes of the file, and their CRC32C.
package struct Extent: Hashable, Sendable {
  /// The most bytes that one extent covers.
  package static let maximumLength = 1 << 20

  package var offset: Int64
  package var length: UInt32
  package var crc: UInt32

  package var range: ByteRange { offset..<(offset + Int64(length)) }
}

/// One process's ownership of the part file.
package struct JournalRun: Hashable, Sendable {
  package var nonce: [UInt8]
  package var mountID: UInt64
  package var part: FileIdentity
  package var bootID: String
}

/// The intent to publish the part file under its final name.
package struct Publication: Hashable, Sendable {
  package var length: Int64
  package var part: FileIdentity
  package var name: String
}

/// One record of a journal, as specified in `docs/journal-format.md`.
package enum JournalRecord: Hashable, Sendable {
  /// A new generation of the content; all earlier claims are void.
  case head(JournalHead)
  case run(JournalRun)
  /// Claims: these bytes are written. Claims are numbered from 0 within a generation.
  case written([Extent])
  /// A sync of the part file began, after this many claims.
  case syncing(UInt64)
  /// This many claims, from the first, are on disk.
  case durable(UInt64)
  /// The claims with these numbers are void.
  case void([Range<UInt64>])
  case publishing(Publication)
  /// Haul's empty file holds the final name until the rename.
  case placeholder(FileIdentity)
  /// The whole file does not have this digest.
  case rejected(Checksum)
  /// Nothing proves that later bytes are of the same version as earlier ones; only a digest of the
  /// whole file can.
  case unproved
}

/// The digest that a whole file must have: an algorithm and its value.
public struct Checksum: Hashable, Sendable {
  /// A digest algorithm, named as on the command line.
  public enum Algorithm: String, CaseIterable, Sendable {
    case sha256 = "sha-256"
    case sha512 = "sha-512"
    case sha384 = "sha-384"
    case sha1 = "sha-1"
    case md5
    case crc32c
    /// CRC-64/NVME, which S3 computes of every object that comes without a checksum.
    case crc64nvme

    /// The algorithm with that name, in either case, with `sha256` for `sha-256`; nil for another
    /// name.
    package init?(name: some StringProtocol) {
      let name = name.lowercased()
      let isShort = name.hasBytePrefix("sha") && !name.hasBytePrefix("sha-")
      self.init(rawValue: isShort ? "sha-\(name.dropFirst(3))" : name)
    }

    /// Whether a digest that the server announces is accepted as proof: collisions cannot be
    /// constructed.
    package var isTrusted: Bool { [.sha256, .sha384, .sha512].contains(self) }

    /// Whether anybody can make other bytes with the same value. It finds accidents.
    package var isCRC: Bool { self == .crc32c || self == .crc64nvme }

    /// The length of the digest in bytes.
    public var byteCount: Int {
      switch self {
      case .sha256: 32
      case .sha512: 64
      case .sha384: 48
      case .sha1: 20
      case .md5: 16
      case .crc32c: 4
      case .crc64nvme: 8
      }
    }
  }

  /// How it was computed.
  public let algorithm: Algorithm
  /// The digest, `algorithm.byteCount` bytes.
  public let bytes: [UInt8]

  /// A checksum of raw digest bytes; nil if their number does not fit the algorithm.
  public init?(_ algorithm: Algorithm, bytes: [UInt8]) {
    guard bytes.count == algorithm.byteCount else { return nil }
    self.algorithm = algorithm
    self.bytes = bytes
  }

  /// A checksum from `ALG=HEX`, in either case, with `sha256` for `sha-256`; nil if the algorithm
  /// or the length is wrong.
  public init?(_ text: String) {
    let parts = text.byteSplit(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let algorithm = Algorithm(name: parts[0]),
      let bytes = Self.decodeHex(parts[1])
    else { return nil }
    self.init(algorithm, bytes: bytes)
  }

  /// The digest in lower-case hexadecimal.
  public var hex: String { bytes.hexDigits }

  private static func decodeHex(_ text: Substring) -> [UInt8]? {
    let nibbles = text.utf8.compactMap(PercentCoding.nibble)
    guard nibbles.count == text.utf8.count, nibbles.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: nibbles.count, by: 2).map { nibbles[$0] << 4 | nibbles[$0 + 1] }
  }
}

extension Checksum: CustomStringConvertible {
  /// `ALG=HEX`.
  public var description: String { "\(algorithm.rawValue)=\(hex)" }
}

extension [Checksum] {
  /// The first digest of these that was not found, and the found digest in its place.
  package func mismatch(with found: [Checksum]) -> (expected: Checksum, got: String)? {
    guard let expected = first(where: { !found.contains($0) }) else { return nil }
    return (expected, found.first { $0.algorithm == expected.algorithm }?.hex ?? "none")
  }
}

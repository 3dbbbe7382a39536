import Crypto
import CryptoExtras
import FoundationEssentials
package import HaulCore

/// The password of the page as a file may have it: scrypt (RFC 7914) with a random salt.
package struct PasswordHash: Codable, Hashable, Sendable {
  package static let lengths = 8...256
  /// 32 MiB and some tenths of a second, as OWASP recommends; no more, because a try costs as much.
  private static let cost = (rounds: 1 << 15, blockSize: 8, parallelism: 3)

  /// It also names this password: sessions that began with another one have ended.
  package let salt: String
  private let rounds: Int
  private let blockSize: Int
  private let parallelism: Int
  private let hash: String

  enum CodingKeys: String, CodingKey {
    case salt, rounds, parallelism, hash
    case blockSize = "block_size"
  }

  /// It blocks while it computes.
  /// - Throws: `internal`.
  package init(_ password: [UInt8]) throws(TransferError) {
    salt = RandomText.make(words: 2)
    (rounds, blockSize, parallelism) = Self.cost
    hash = try Self.hash(password, salt, Self.cost)
  }

  /// Whether it is the password. It blocks while it computes.
  /// - Throws: `internal` when the file asks for more than this program allows.
  package func matches(_ password: [UInt8]) throws(TransferError) -> Bool {
    let cost = (rounds: rounds, blockSize: blockSize, parallelism: parallelism)
    guard cost == Self.cost, Self.lengths.contains(password.count) else {
      if cost != Self.cost { throw Self.failure }
      return false
    }
    let own = try Self.hash(password, salt, cost)
    return Array(own.utf8).isEqualInConstantTime(to: Array(hash.utf8))
  }

  private static func hash(
    _ password: [UInt8], _ salt: String, _ cost: (rounds: Int, blockSize: Int, parallelism: Int)
  ) throws(TransferError) -> String {
    do {
      return try KDF.Scrypt.deriveKey(
        from: password, salt: Array(salt.utf8), outputByteCount: 32, rounds: cost.rounds,
        blockSize: cost.blockSize, parallelism: cost.parallelism
      ).withUnsafeBytes { $0.hexDigits }
    } catch {
      throw failure
    }
  }

  private static let failure = TransferError(
    .internal, "the password cannot be computed", advice: "set it again: haul ui password")
}

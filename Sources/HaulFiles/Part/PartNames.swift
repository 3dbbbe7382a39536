import Crypto
package import HaulCore

/// The names of a target's part file and journal.
package struct PartNames: Hashable, Sendable {
  package static let maximumLength = 255

  /// The name of the target.
  let name: String
  package let part: String
  package let journal: String

  /// - Throws: `internal` if it is not a file name.
  package init(_ name: String) throws(TransferError) {
    guard !name.isEmpty, name != ".", name != "..", !name.hasByte(0x2F), !name.hasByte(0)
    else { throw TransferError(.internal, "this is not a file name") }
    self.name = name
    let stem = Self.shortened(name, room: Self.maximumLength - FileName.journalSuffix.utf8.count)
    part = stem + FileName.partSuffix
    journal = stem + FileName.journalSuffix
  }

  /// The name or, if it is too long, its start and eight digits of its hash.
  private static func shortened(_ name: String, room: Int) -> String {
    guard name.utf8.count > room else { return name }
    let digest = Array(SHA256.hash(data: Array(name.utf8)))
    let suffix = "-" + (Checksum(.sha256, bytes: digest)?.hex.prefix(8) ?? "")
    var stem = ""
    var length = suffix.utf8.count
    for character in name {
      length += character.utf8.count
      guard length <= room else { break }
      stem.append(character)
    }
    return stem + suffix
  }
}

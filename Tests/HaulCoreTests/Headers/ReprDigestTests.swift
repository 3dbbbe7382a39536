import HaulCore
import Testing

@Suite struct ReprDigestTests {
  static let sha256 = "RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg="
  static let sha256Hex = "sha-256=44aff4ab2d7c3250525675a08f0cfa9591168cffe51791c5f5bbc417c15a6c38"
  static let md5 = "Sd/dVLAcvNLSq16eXua5uQ=="
  static let md5Hex = "md5=49dfdd54b01cbcd2d2ab5e9e5ee6b9b9"

  private func read(_ fields: [(String, String)]) -> [String] {
    ReprDigest.checksums(HeaderFields(fields)).map(\.description)
  }

  @Test func `Known digests are read, strongest first`() {
    #expect(
      read([("Repr-Digest", "md5=:\(Self.md5):, sha-256=:\(Self.sha256):")])
        == [Self.sha256Hex, Self.md5Hex])
    #expect(
      read([("Repr-Digest", "md5=:\(Self.md5):"), ("repr-digest", "sha-256=:\(Self.sha256):;a=1")])
        == [Self.sha256Hex, Self.md5Hex])
  }

  @Test func `Unknown algorithms are ignored`() {
    #expect(
      read([("Repr-Digest", "sha-3000=:AAAA:, sha-256=:\(Self.sha256):, unixsum=1")])
        == [Self.sha256Hex])
  }

  @Test(arguments: [
    "", "sha-256", "sha-256=\(sha256)", "sha-256=:AAAA:", "sha-256=:\(sha256)",
    "sha-256=\"\(sha256)\"", "sha-256=:\(sha256):,", "SHA-256=:\(sha256):",
    "sha-256=(:\(sha256):)",
  ])
  func `A malformed field is ignored`(text: String) {
    #expect(read([("Repr-Digest", text)]).isEmpty)
  }

  @Test func `The digest of a part is not used as the digest of the whole`() {
    #expect(read([("Content-Digest", "sha-256=:\(Self.sha256):")]).isEmpty)
  }

  @Test func `The older field is read if the newer one is missing`() {
    let old = ("Digest", "SHA-256=\(Self.sha256), unixsum=30637,md5=\(Self.md5)")
    #expect(read([old]) == [Self.sha256Hex, Self.md5Hex])
    #expect(read([old, ("Repr-Digest", "md5=:\(Self.md5):")]) == [Self.md5Hex])
    #expect(read([("Digest", "sha-256=AAAA,md5,=,sha-512=!!")]).isEmpty)
  }

  @Test func `A contradiction in the older field makes it ignore that algorithm`() {
    let other = "AAAAqy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg="
    #expect(
      read([("Digest", "sha-256=\(Self.sha256),sha-256=\(other),md5=\(Self.md5)")])
        == [Self.md5Hex])
  }
}

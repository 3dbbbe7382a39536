import HaulCore
import Testing

/// Which digests that a server states are compared with nothing.
@Suite struct UncheckedDigestsTests {
  @Test(arguments: [
    ("Repr-Digest", "blake3=:AAAA:, sha-256=:AAAA:, UNIXSUM=1", ["blake3", "unixsum"]),
    ("Digest", "SHA-256=AAAA,ADLER32=03da0195", ["adler32"]),
    ("Content-Digest", "crc32c=:AAAA:", ["crc32c"]),
    ("OC-Checksum", "SHA1:00 ADLER32:00", ["adler32"]),
    ("x-amz-checksum-crc32", "AAAA", ["crc32"]), ("x-amz-checksum-sha256", "AAAA", []),
    ("X-Amz-Checksum-Type", "FULL_OBJECT", []), ("Digest", "sha-512=AAAA, md5=AAAA", []),
    ("Repr-Digest", "a\u{1B}b=:AAAA:, =, x", []), ("ETag", "\"blake3=1\"", []),
  ])
  func `Those of other kinds are named`(field: String, value: String, names: [String]) {
    #expect(UncheckedDigests.names(in: HeaderFields([(field, value)])) == names)
  }

  @Test func `Each is named once, and not more than eight`() {
    let many = (0..<100).map { ("Repr-Digest", "kind\($0)=:AAAA:, kind0=:AAAA:") }
    #expect(UncheckedDigests.names(in: HeaderFields(many)).count == 8)
    let twice = [("Digest", "ADLER32=00"), ("Repr-Digest", "adler32=:AAAA:")]
    #expect(UncheckedDigests.names(in: HeaderFields(twice)) == ["adler32"])
  }
}

import HaulCore
import Testing

/// Lists of digests.
@Suite struct ChecksumListTests {
  private static let (a, b) = (String(repeating: "a", count: 64), String(repeating: "b", count: 64))

  private func list(_ text: String) -> ChecksumList { ChecksumList(Array(text.utf8)) }

  private func sha(_ digits: String) throws -> Checksum {
    try #require(Checksum("sha256=\(digits)"))
  }

  @Test(arguments: [
    ("\(a)  x y.iso", "x y.iso"), ("\(a) *x.iso", "x.iso"), ("\(a) x.iso", "x.iso"),
    ("\(a)   x", " x"), ("\(a)  x ", "x "), ("\(a)\t x", "x"), ("  \(a.uppercased())  x\r", "x"),
    ("\\\(a)  a\\\\b\\nc\\rd", "a\\b\nc\rd"), ("SHA256 (x (1).iso) = \(a)", "x (1).iso"),
    ("SHA2-256(x)= \(a)", "x"), ("sha-256 (x) = \(a)\r", "x"), ("\\SHA256 (a\\nb) = \(a)", "a\nb"),
    ("\(a)  ./d/../x", "./d/../x"),
  ])
  func `A line of each kind has a name and a digest`(_ line: String, name: String) throws {
    let list = list("# by hand\n\n\(line)\n")
    #expect(list.entries.map(\.name) == [name])
    #expect(list.entries.map(\.checksum) == [try sha(Self.a)])
    #expect(list.unreadLines == 0)
  }

  @Test(arguments: [(32, "md5"), (40, "sha-1"), (64, "sha-256"), (96, "sha-384"), (128, "sha-512")])
  func `The number of digits says which digest it is`(_ count: Int, name: String) {
    let list = list("\(String(repeating: "0", count: count))  x")
    #expect(list.entries.map(\.checksum.algorithm.rawValue) == [name])
  }

  @Test func `A digest alone has no name`() throws {
    let list = list("\(Self.a) \r\n")
    #expect(try list.nameless == [sha(Self.a)])
    #expect(list.files.isEmpty)
  }

  @Test(arguments: [
    "x", "\(a)x", "\(a)  ", "\\\(a)  a\\tb", "\(a.dropLast())  x", "SHA224 (x) = 00",
    "SHA256 x = \(a)",
    "SHA256 (x) \(a)", "MD5 (x) = \(a)", "\(a)  a\0b", "<html><td>\(a)</td>",
  ])
  func `A line that is not understood counts, and says nothing`(_ line: String) {
    let list = list(line)
    #expect(list.entries.filter { $0.name != nil }.isEmpty)
    #expect(list.unreadLines + list.nameless.count == 1)
  }

  @Test func `A name that is not UTF-8 or very long is not taken`() {
    let long = String(repeating: "n", count: 4097)
    #expect(ChecksumList(Array("\(Self.a)  ".utf8) + [0xFF]).unreadLines == 1)
    #expect(list("\(Self.a)  \(long)").unreadLines == 1)
    #expect(list("\(Self.a)  \(long.dropLast())").entries.count == 1)
  }

  @Test func `What is before and after a signed text does not count`() throws {
    let list = list(
      """
      \(Self.b)  before
      -----BEGIN PGP SIGNED MESSAGE-----
      Hash: SHA256
      \(Self.b)  head

      \(Self.a)  x
      - \(Self.a)  -y
      -----BEGIN PGP SIGNATURE-----

      \(Self.b)  signature
      -----END PGP SIGNATURE-----
      \(Self.b)  after
      -----BEGIN PGP SIGNED MESSAGE-----

      \(Self.b)  again
      """)
    #expect(list.entries.map(\.name) == ["x", "-y"])
    #expect(try list.entries.allSatisfy { try $0.checksum == sha(Self.a) })
  }

  @Test func `A signature below a list is passed over`() {
    let list = list(
      """
      \(Self.a)  x
      -----BEGIN PGP SIGNATURE-----
      abc
      -----END PGP SIGNATURE-----
      \(Self.b)  y
      """)
    #expect(list.entries.map(\.name) == ["x", "y"] && list.unreadLines == 0)
  }

  @Test func `The entry that shares most directories with a path is that of the file`() throws {
    let list = list(
      """
      \(Self.a)  ./amd64/boot.img
      \(Self.b) *arm64/boot.img
      \(Self.a)  build/out/x.bin
      \(String(repeating: "0", count: 32))  build/out/x.bin
      """)
    #expect(try list.checksums(ofFileAt: "/dist/arm64/boot.img") == [sha(Self.b)])
    #expect(try list.checksums(ofFileAt: "/dist/amd64/boot.img") == [sha(Self.a)])
    #expect(list.checksums(ofFileAt: "/dist/boot.img").count == 2, "which is not known")
    #expect(list.checksums(ofFileAt: "x.bin").map(\.algorithm) == [.sha256, .md5])
    #expect(list.checksums(ofFileAt: "/dist/oot.img").isEmpty)
    #expect(list.checksums(ofFileAt: "").isEmpty)
  }

  @Test func `An entry that fits as a whole comes before one that shares more`() throws {
    let list = ChecksumList(
      Array("\(Self.a)  a.bin\n\(Self.b)  ./sub/a.bin\n\(Self.b)  q/p/a.bin\n".utf8))
    #expect(list.checksums(ofFileAt: "/p/a.bin") == [try sha(Self.a)])
    #expect(list.checksums(ofFileAt: "/x/sub/a.bin") == [try sha(Self.b)])
  }

  @Test func `A mark of the byte order hides no frame of a signature`() {
    let text = """
      \u{FEFF}-----BEGIN PGP SIGNED MESSAGE-----

      \(Self.b)  b.bin
      -----BEGIN PGP SIGNATURE-----
      -----END PGP SIGNATURE-----
      \(Self.a)  a.bin
      """
    let list = ChecksumList(Array(text.utf8))
    #expect(list.checksums(ofFileAt: "a.bin").isEmpty)
    #expect(list.checksums(ofFileAt: "b.bin").count == 1)
  }

  @Test func `Neighbours of an address are of its origin, and without its query`() throws {
    let url = try ResourceURL("https://u:p@h:8443/d/a%20b.iso?token=secret")
    let places = ChecksumList.neighbours(of: url)
    #expect(places.allSatisfy { $0.address.origin == url.origin && $0.address.query == nil })
    #expect(places.first?.address.absoluteString == "https://h:8443/d/a%20b.iso.sha256")
    #expect(places.contains { $0.address.path == "/d/SHA256SUMS" && !$0.isOfFile })
    #expect(try ChecksumList.neighbours(of: ResourceURL("https://h/")).isEmpty)
  }
}

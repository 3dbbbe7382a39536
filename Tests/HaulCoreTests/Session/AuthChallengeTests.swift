import HaulCore
import Testing

@Suite struct AuthChallengeTests {
  private func read(_ values: String...) -> [AuthChallenge] {
    AuthChallenge.all(
      in: HeaderFields(values.map { ("WWW-Authenticate", $0) }), named: "www-authenticate")
  }

  @Test(
    arguments: [
      ("Basic realm=\"x\"", ["basic"]), ("Basic realm=\"a, Digest b\"", ["basic"]),
      ("Negotiate, NTLM, Basic realm=x", ["negotiate", "ntlm", "basic"]),
      ("Negotiate abc==, DIGEST Realm=\"r\", nonce=n", ["negotiate", "digest"]),
      ("Basic, Bearer", ["basic", "bearer"]), ("NTLM TlRMTVNTUAAC/A+=", ["ntlm"]),
      (" , ,Basic realm=x, , Digest nonce=y", ["basic", "digest"]), ("", []), ("\"x\"", []),
      ("Digest nonce=\"open", []), ("Digest nonce=a\u{1}b", []),
      ("Basic realm=x, Digest nonce=\"open", ["basic"]),
      (
        "Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\"",
        ["newauth", "basic"]
      ),
    ] as [(String, [String])])
  func `Schemes are read from lists, in several fields, in any case`(
    value: String, schemes: [String]
  ) { #expect(read(value).map(\.scheme) == schemes) }

  @Test func `Parameters are read with and without quotes, the first of each name`() throws {
    let digest = try #require(
      read(
        "Digest  realm = \"a \\\"b\\\" c, d\" ,QOP=\"auth,auth-int\", nonce=ab/c+==, stale=TRUE,"
          + " opaque=\"\", realm=other"
      ).first)
    #expect(
      digest.parameters == [
        "realm": "a \"b\" c, d", "qop": "auth,auth-int", "nonce": "ab/c+==", "stale": "TRUE",
        "opaque": "",
      ])
    #expect(read("Basic realm=a", "Digest nonce=b").map(\.scheme) == ["basic", "digest"])
  }

  @Test func `A field of too many bytes is not read`() {
    #expect(read("Basic realm=" + String(repeating: "x", count: 20_000)).isEmpty)
  }
}

@Suite struct DigestChallengeTests {
  private static let mufasa = ResourceURL.Credentials(user: "Mufasa", password: "Circle of Life")

  private func challenge(_ values: String...) -> DigestChallenge? {
    DigestChallenge(
      AuthChallenge.all(
        in: HeaderFields(values.map { ("WWW-Authenticate", $0) }), named: "WWW-Authenticate"))
  }

  private static let rfc7616 =
    "realm=\"http-auth@example.org\", qop=\"auth, auth-int\", "
    + "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", "
    + "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""
  private static let cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"

  @Test func `The answers of RFC 7616, section 3.9.1, are computed`() throws {
    func answer(_ algorithm: String) throws -> String {
      try #require(challenge("Digest \(Self.rfc7616), algorithm=\(algorithm)")).field(
        for: Self.mufasa, "GET", "/dir/index.html", count: 1, clientNonce: Self.cnonce)
    }
    #expect(try answer("MD5").contains("response=\"8ca523f5e9506fed4657c9700eebdbec\""))
    let sha = try answer("SHA-256")
    #expect(
      sha.contains(
        "response=\"753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1\""))
    #expect(
      try answer("SHA-512-256").contains(
        "response=\"430d05014cecc49cab6fbe03176d41a1da86cbfe24a16580e22aaad928d960d0\""))
    #expect(sha.hasPrefix("Digest username=\"Mufasa\", realm=\"http-auth@example.org\", "))
    for part in [
      "uri=\"/dir/index.html\"", "algorithm=SHA-256", "nc=00000001", "qop=auth",
      "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"", "cnonce=\"\(Self.cnonce)\"",
    ] {
      #expect(sha.contains(part))
    }
    #expect(!sha.contains("Circle"))
  }

  @Test(arguments: [
    ("MD5", "9e9c69bf6a292847cbb72707a38c72d3"),
    ("SHA-256", "21dba59fdd5bd80bd9366a26674aea85fe0a764797d7405059039a6e526d498f"),
  ])
  func `Bytes that are not UTF-8 are answered, and hashed, as they came`(
    algorithm: String, response: String
  ) throws {
    let nonce = FieldText.reversible([0x6E, 0xFF])
    let realm = FieldText.reversible(Array("caf".utf8) + [0xE9])
    let digest = try #require(
      challenge("Digest realm=\"\(realm)\", nonce=\"\(nonce)\", algorithm=\(algorithm)"))
    let field = digest.field(
      for: ResourceURL.Credentials(user: "me", password: "pw"), "GET", "/f", count: 1,
      clientNonce: "c")
    #expect(field.contains("response=\"\(response)\""))
    let sent = FieldText.bytes(of: field)
    #expect(sent.firstRange(of: Array("realm=\"caf".utf8) + [0xE9, 0x22]) != nil)
    #expect(sent.firstRange(of: Array("nonce=\"n".utf8) + [0xFF, 0x22]) != nil)
  }

  @Test func `Without qop, the answer is that of RFC 2069`() throws {
    let old = try #require(
      challenge(
        "Digest realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\""))
    let field = old.field(
      for: ResourceURL.Credentials(user: "Mufasa", password: "CircleOfLife"), "GET",
      "/dir/index.html", count: 1, clientNonce: "x")
    #expect(field.contains("response=\"1949323746fe6a43ef61f9606e7febea\""))
    #expect(!field.contains("nc=") && !field.contains("qop") && !field.contains("algorithm"))
  }

  @Test func `A session's secret has both nonces`() throws {
    let session = try #require(
      challenge("Digest realm=\"r\", nonce=\"n\", qop=auth, algorithm=MD5-sess"))
    let field = session.field(
      for: ResourceURL.Credentials(user: "u", password: "p"), "GET", "/", count: 10,
      clientNonce: "c")
    // MD5(MD5(MD5("u:r:p"):n:c):n:0000000a:c:auth:MD5("GET:/"))
    #expect(
      field.contains("response=\"a3708b6ddb2dfade2f1c564ef28f9d8c\"")
        && field.contains("nc=0000000a"))
  }

  @Test func `The user is hashed where the server wants that`() throws {
    let hidden = try #require(
      challenge("Digest \(Self.rfc7616), algorithm=MD5, userhash=true"))
    let field = hidden.field(
      for: Self.mufasa, "GET", "/", count: 1, clientNonce: "c")
    #expect(field.contains("userhash=true") && !field.contains("Mufasa"))
  }

  @Test func `Quotes in a name are escaped`() throws {
    let field = try #require(challenge("Digest realm=\"a\\\"b\", nonce=\"n\"")).field(
      for: ResourceURL.Credentials(user: "m\"\\e", password: "p"), "GET", "/", count: 1,
      clientNonce: "c")
    #expect(field.contains("username=\"m\\\"\\\\e\", realm=\"a\\\"b\""))
  }

  @Test(arguments: [
    "Basic realm=x", "Digest realm=x", "Digest nonce=n, algorithm=SHA-512",
    "Digest nonce=n, qop=auth-all", "Bearer",
  ])
  func `What can't be answered is no challenge`(value: String) { #expect(challenge(value) == nil) }

  @Test func `A hash of the body is sent where there is none; a body would have to be read first`()
    throws
  {
    let fields = HeaderFields([
      (
        "WWW-Authenticate",
        "Digest "
          + Self.rfc7616.replacing("auth, auth-int", with: "auth-int")
      )
    ])
    let challenges = AuthChallenge.all(in: fields, named: "WWW-Authenticate")
    let field = try #require(DigestChallenge(challenges)).field(
      for: Self.mufasa, "GET", "/dir/index.html", count: 1, clientNonce: Self.cnonce)
    #expect(field.contains("response=\"8804a53d3640a40a4f73cea12c5ba451\""))
    #expect(field.contains("qop=auth-int"))
    #expect(DigestChallenge(challenges, withBody: true) == nil)
    let scheme = UnauthorizedAdvice.unsupportedScheme(
      of: challenges, besides: ["basic"], withBody: true)
    #expect(scheme?.contains("auth-int") == true)
  }

  // Python's hashlib has computed these.
  @Test(arguments: [
    (0, "0fb00aa8c78769d6727b05d829abe59cdb2ef51d9f36fc57547ed1d67dde95a4"),
    (111, "3b3c8c0271d82e587c6a4950c90e412c3561c73c9bea1864d647e855a1d00f97"),
    (112, "15c6a9dd9fd14045eb786b60fd4b66c9405193ca923b9961a6182462b1e5e2b8"),
    (128, "0b2ce4230ce4917e1dc23d5f262d7206accba64555bf37fee2307181f99ba385"),
    (240, "5815dbd57cc829a7a7cb73f2a506500909443b4c72ba681cf5710e39d74fbd70"),
    (1000, "68354c8e3f3c4b5fbfdcc03f27ca043c73f9f8b16fdb19c451de379918a4c0ad"),
  ])
  func `SHA-512-256 of texts of some lengths`(count: Int, digest: String) throws {
    let user = String(repeating: "a", count: count)
    let field = try #require(
      challenge("Digest nonce=n, algorithm=SHA-512-256, userhash=true, realm=\"\"")
    )
    .field(
      for: ResourceURL.Credentials(user: user, password: ""), "GET", "/", count: 1,
      clientNonce: "c")
    #expect(field.contains("username=\"\(digest)\""))
  }

  @Test func `The stronger algorithm is used, in whatever order`() throws {
    let best = try #require(
      challenge("Digest nonce=a, algorithm=MD5", "Basic, Digest nonce=b, algorithm=\"sha-256\""))
    #expect(best.nonce == "b")
    #expect(challenge("Digest nonce=a, stale=\"True\"")?.isStale == true)
  }
}

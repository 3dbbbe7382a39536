import HaulCore

let sessionTargets = [
  Target(name: "set-cookie") { input in
    let parts = input.parts
    guard let url = try? ResourceURL("https://a.h.example/d/\(parts.last ?? "")"),
      let above = try? ResourceURL("https://h.example/"),
      let other = try? ResourceURL("https://b.example/d/"),
      let plain = try? ResourceURL("http://a.h.example/d/")
    else { return }
    let fields = HeaderFields(parts.map { ("Set-Cookie", $0) })
    for knowsSuffixes in [false, true] {
      var jar = CookieJar()
      jar.store(fields, from: url, at: 1_700_000_000) { domain in
        knowsSuffixes ? domain.utf8.elementsEqual("example".utf8) : nil
      }
      for sent in [url, above, other, plain].compactMap({ jar.field(for: $0, at: 1_700_000_000) }) {
        expect(sent.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "it splits a header")
        expect(sent.utf8.count <= 8190, "a long field")
      }
      expect(jar.field(for: other, at: 1_700_000_000) == nil, "another's cookie")
      expect(knowsSuffixes || jar.field(for: above, at: 1_700_000_000) == nil, "a parent's cookie")
      expect(jar.cookies.count <= 60, "more than a server may set")
      let secure = jar.cookies(for: plain, at: 1_700_000_000).filter(\.isSecure)
      expect(secure.isEmpty, "a secure cookie in clear")
    }
  },
  Target(name: "auth-challenge") { input in
    let parts = input.parts
    let fields = HeaderFields(parts.map { ("WWW-Authenticate", $0) })
    let challenges = AuthChallenge.all(in: fields, named: "www-authenticate")
    for challenge in challenges {
      expect(HeaderFields.isName(challenge.scheme), "a scheme that is no token")
      expect(challenge.parameters.keys.allSatisfy(HeaderFields.isName), "a name that is no token")
    }
    guard let digest = DigestChallenge(challenges) else { return }
    let user = ResourceURL.Credentials(user: "u\"\\", password: "canary-7")
    let field = digest.field(for: user, "GET", "/\(parts.count)", count: 1, clientNonce: "c")
    expect(!field.utf8.contains(0x0A) && !field.utf8.contains(0x0D), "it splits a header")
    expect(
      !field.hasBytes("canary-7") || fields.fields.contains { $0.value.hasBytes("canary-7") },
      "the password is sent")
    // The answer reads as one challenge would.
    let again = AuthChallenge.all(in: HeaderFields([("A", field)]), named: "A")
    expect(
      again.count == 1 && again.first?.parameters["nonce"] == digest.nonce
        || field.utf8.count > 16_000,
      "it does not read what it says")
  },
]

import HaulCore
import Testing

/// When a credential counts as refused everywhere.
@Suite struct CredentialRefusalsTests {
  private static let token = HeaderFields([("Authorization", "Bearer canary")])

  private func url(_ path: String) throws -> ResourceURL { try ResourceURL("https://h\(path)") }

  private func credential(_ path: String = "/d/f") throws -> SentCredential {
    try #require(SentCredential(to: try url(path), Self.token))
  }

  /// Refuses these paths one after the other; the address that is to be asked last.
  @discardableResult
  private func refuse(
    _ paths: [String], _ refusals: inout CredentialRefusals
  ) throws -> ResourceURL? {
    var asked: ResourceURL?
    for path in paths {
      asked = refusals.note(.refused, to: try credential(), at: try url(path))
    }
    return asked
  }

  private func holds(_ path: String, _ refusals: CredentialRefusals) throws -> Bool {
    refusals.holds(try credential(), at: try url(path))
  }

  @Test func `Three refusals in a row hold the rest of a directory`() throws {
    var refusals = CredentialRefusals()
    for (count, path) in ["/d/1", "/d/2", "/d/3"].enumerated() {
      #expect(try !holds("/d/4", refusals), "after \(count)")
      try refuse([path], &refusals)
    }
    #expect(try holds("/d/4", refusals))
    #expect(try !holds("/e/1", refusals), "another place may open")
    let other = try #require(
      SentCredential(to: try url("/d/4"), HeaderFields([("Authorization", "Bearer new")])))
    #expect(!refusals.holds(other, at: try url("/d/4")), "another token goes at once")
  }

  @Test func `Transfers are held with others once it is clear that the credential is the reason`()
    throws
  {
    var refusals = CredentialRefusals()
    func refuse(_ id: UInt64, _ path: String) throws {
      _ = refusals.note(
        .refused, to: try credential(), at: try url(path), of: TransferID(bits: id))
    }
    func held() -> [UInt64] { refusals.heldTransfers.map(\.bits) }
    try refuse(1, "/d/1")
    _ = refusals.note(.accepted(wasRead: false), to: try credential(), at: try url("/e/1"))
    try refuse(2, "/d/2")
    try refuse(3, "/e/3")
    #expect(held() == [], "nothing is known yet")
    try refuse(4, "/e/4")
    #expect(held() == [], "one of the directories was never opened")
    _ = refusals.note(.accepted(wasRead: false), to: try credential(), at: try url("/d/5"))
    for id: UInt64 in [6, 7, 8] { try refuse(id, "/d/\(id)") }
    #expect(held() == [6, 7, 8], "those before it was accepted last are refused alone")
    refusals.forget([try #require(TransferID(bits: 7))])
    #expect(held() == [6, 8])
  }

  @Test func `Several directories that refuse a credential hold all of them`() throws {
    var refusals = CredentialRefusals()
    try refuse(["/a/1", "/b/1"], &refusals)
    #expect(try !holds("/c/1", refusals))
    try refuse(["/c/1"], &refusals)
    for path in ["/a/2", "/e/1"] { #expect(try holds(path, refusals)) }
  }

  @Test func `A success between them begins the count anew`() throws {
    var refusals = CredentialRefusals()
    try refuse(["/d/1", "/d/2"], &refusals)
    #expect(
      refusals.note(.accepted(wasRead: true), to: try credential(), at: try url("/d/3")) == nil)
    #expect(try refuse(["/d/4", "/d/5"], &refusals) == nil)
    #expect(try !holds("/d/6", refusals))
  }

  @Test func `One path that refuses what opens others is never held`() throws {
    var refusals = CredentialRefusals()
    let opened = try url("/open/1")
    _ = refusals.note(.accepted(wasRead: true), to: try credential(), at: opened)
    var asked = 0
    for number in 1...500 {
      guard try refuse(["/private/\(number)"], &refusals) != nil else { continue }
      asked += 1
      #expect(try !holds("/private/x", refusals), "nothing is known before the answer")
      refusals.asked(try credential(), isRefused: false)
    }
    #expect(asked == 7, "the question is asked ever more seldom")
    #expect(try !holds("/private/x", refusals) && !holds("/open/2", refusals))
  }

  @Test func `A credential that has expired is refused by what it opened`() throws {
    var refusals = CredentialRefusals()
    let opened = try url("/a/1")
    _ = refusals.note(.accepted(wasRead: true), to: try credential(), at: opened)
    #expect(try refuse(["/b/1", "/c/1", "/d/1"], &refusals) == opened)
    #expect(try refuse(["/e/1"], &refusals) == nil, "one question at a time")
    refusals.asked(try credential(), isRefused: nil)
    #expect(try !holds("/f/1", refusals), "no answer says nothing")
    #expect(try refuse(["/e/2"], &refusals) == opened)
    refusals.asked(try credential(), isRefused: true)
    for path in ["/a/1", "/f/1"] { #expect(try holds(path, refusals)) }
  }

  @Test func `An upload is not sent again to find out: what it opened must refuse it`() throws {
    var refusals = CredentialRefusals()
    _ = refusals.note(.accepted(wasRead: false), to: try credential(), at: try url("/up/1"))
    #expect(try refuse(["/other/1", "/other/2", "/other/3"], &refusals) == nil)
    #expect(try !holds("/up/2", refusals))
    _ = refusals.note(.accepted(wasRead: false), to: try credential(), at: try url("/up/2"))
    try refuse(["/up/3", "/up/4", "/up/5"], &refusals)
    #expect(try holds("/up/6", refusals) && holds("/other/4", refusals))
  }

  @Test func `Its user may try again, at one host`() throws {
    var refusals = CredentialRefusals()
    try refuse(["/a/1", "/b/1", "/c/1"], &refusals)
    refusals.forgive("other")
    #expect(try holds("/a/1", refusals))
    refusals.forgive(try url("/").origin.authority)
    #expect(try !holds("/a/1", refusals))
    try refuse(["/a/1", "/a/2"], &refusals)
    #expect(try !holds("/a/3", refusals))
  }

  @Test(arguments: [
    (200, false, CredentialRefusals.Answer.accepted(wasRead: true)),
    (302, true, .accepted(wasRead: true)), (401, false, .refused), (401, true, .neither),
    (403, false, .neither), (404, false, .neither), (407, false, .neither), (429, false, .neither),
    (503, false, .neither),
  ])
  func `Only 401 of the origin itself is a refusal, and 403 is none`(
    status: Int, leftOrigin: Bool, answer: CredentialRefusals.Answer
  ) {
    #expect(
      CredentialRefusals.Answer(status: status, leftOrigin: leftOrigin, wasRead: true) == answer)
  }

  @Test func `What proves a right is the field, the user, or a field with such a name`() throws {
    func found(_ address: String, _ fields: [(String, String)] = []) throws -> SentCredential? {
      SentCredential(to: try ResourceURL(address), HeaderFields(fields))
    }
    for name in ["Cookie", "PRIVATE-TOKEN", "X-Api-Key", "X-JFrog-Art-Api-Key", "X-Auth"] {
      #expect(try found("https://h/x", [(name, "1")]) != nil, "\(name)")
    }
    #expect(try found("https://u:p@h/x") == found("https://u:p@h/y"))
    #expect(try found("https://u:p@h/x") != found("https://u:q@h/x"))
    #expect(
      try found("https://h/x", [("Authorization", "a"), ("Cookie", "1")])
        == found("https://h/y", [("Authorization", "a"), ("Cookie", "2")]))
    for address in ["https://h/x", "http://h/x", "https://h:8443/x", "https://i/x"].dropFirst() {
      #expect(try found(address, [("Cookie", "1")]) != found("https://h/x", [("Cookie", "1")]))
    }
    #expect(try found("https://h/x") == nil)
    #expect(try found("https://h/x", [("Accept", "a"), ("User-Agent", "b")]) == nil)
  }

  @Test func `An address that is signed has a right of its own`() throws {
    let signature = String(repeating: "a", count: 64)
    let signed = "https://h/x?X-Amz-Credential=a&X-Amz-Signature=\(signature)"
    for address in [signed, "https://h/x?token=abcdefgh12345678"] {
      #expect(SentCredential(to: try ResourceURL(address), Self.token) == nil, "\(address)")
    }
    var request = FetchRequest(url: try url("/x"), headers: Self.token)
    #expect(request.hasCredential)
    request = request.redirected(to: try ResourceURL("https://other/x"))
    #expect(!request.hasCredential, "it has left its origin")
  }

  @Test func `It is never printed`() throws {
    let credential = try credential()
    #expect(!"\(credential)\(String(reflecting: credential))".contains("canary"))
    var text = ""
    dump(credential, to: &text)
    #expect(!text.contains("canary"))
  }

  @Test func `Very many credentials take bounded room, and what is refused is kept`() throws {
    var refusals = CredentialRefusals()
    try refuse(["/a/1", "/b/1", "/c/1"], &refusals)
    for number in 1...5000 {
      let other = try ResourceURL("https://user\(number):p@h/x")
      let credential = try #require(SentCredential(to: other, HeaderFields()))
      _ = refusals.note(.refused, to: credential, at: other)
    }
    #expect(try holds("/a/2", refusals))
  }
}

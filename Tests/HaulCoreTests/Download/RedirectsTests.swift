import HaulCore
import Testing

/// Where the requests of a download go, after redirects.
@Suite struct RedirectsTests {
  private let given: ResourceURL
  private let mirror: ResourceURL
  private let other: ResourceURL

  init() throws {
    given = try ResourceURL("http://a.example/f")
    mirror = try ResourceURL("http://mirror.example/f")
    other = try ResourceURL("http://other.example/f")
  }

  private func address(_ redirects: Redirects) -> ResourceURL {
    redirects.applied(to: FetchRequest(url: given)).url
  }

  @Test func `They follow the last redirect, until it is forgotten`() {
    var redirects = Redirects()
    #expect(address(redirects) == given)
    redirects.follow(mirror, as: nil)
    #expect(address(redirects) == mirror)
    redirects.forget()
    #expect(address(redirects) == given)
  }

  @Test func `A refused address is forgotten, unless another fetch has found a fresh one`() {
    var redirects = Redirects()
    redirects.follow(mirror, as: nil)
    redirects.forget(other)
    #expect(address(redirects) == mirror)
    redirects.forget(mirror)
    #expect(address(redirects) == given)
  }

  @Test func `The address of an earlier run is asked once, without secrets`() {
    var redirects = Redirects()
    let isKnown = redirects.goBack(from: given.origin)
    #expect(!isKnown)
    redirects.notePrevious(mirror)
    let goesBack = redirects.goBack(from: given.origin)
    #expect(goesBack)
    let request = FetchRequest(url: given, headers: ["Authorization": "x"])
    #expect(redirects.applied(to: request).url == mirror)
    #expect(redirects.applied(to: request).headers["Authorization"] == nil)
    let leaves = redirects.leavePrevious()
    #expect(leaves)
    #expect(address(redirects) == given)
    let goesTwice = redirects.goBack(from: given.origin)
    #expect(!goesTwice)
  }

  @Test func `Once its answer was accepted, a failure there is one like any other`() {
    var redirects = Redirects()
    redirects.notePrevious(mirror)
    _ = redirects.goBack(from: given.origin)
    redirects.noteAcceptance()
    let leaves = redirects.leavePrevious()
    #expect(!leaves)
    #expect(address(redirects) == mirror)
  }
}

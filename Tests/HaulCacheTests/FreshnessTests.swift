import HaulCache
import HaulCore
import Testing

/// Seconds after `now` are relative to the response.
private func response(
  _ headers: HeaderFields, status: Int = 200, delay: Double = 0
) -> StoredResponse {
  StoredResponse(
    status: status, headers: headers, requestedAt: now - delay, answeredAt: now)
}

private let now = Fixture.start
private func date(_ offset: Int64) -> String {
  HTTPDate(secondsSince1970: Int64(now) + offset).imfFixdate
}

@Suite struct ConnectionFieldTests {
  @Test(
    arguments: [
      ("Cache-Control", "no-store"), ("Cache-Control", "no-cache"), ("Pragma", "no-cache"),
      ("Vary", "*"), ("Age", "100"), ("Expires", "0"), ("ETag", "\"a\""),
    ])
  func `a field that decides about the copy is obeyed though Connection lists it`(
    name: String, value: String
  ) {
    let fields = HeaderFields([("Connection", "close, \(name.lowercased())"), (name, value)])
    #expect(response(fields).headers[name] == value)
  }

  @Test func `such a response is not stored, or is stale`() {
    let listed: HeaderFields = ["Connection": "cache-control", "Cache-Control": "no-store"]
    #expect(!response(listed).isStorable(to: CacheControl()))
    let varied: HeaderFields = ["Connection": "Vary", "Vary": "*"]
    #expect(!response(varied).isStorable(to: CacheControl()))
  }
}

@Suite struct CacheControlTests {
  @Test func `reads directives, quoted values and several fields`() {
    let control = CacheControl([
      "Cache-Control": "Max-Age=\"10\" , no-cache=\"Set-Cookie, X\", unknown=1, , stale-if-error=5",
      "cache-control": "PRIVATE,must-revalidate, ext=\"no-store, x\", stale-while-revalidate=7",
    ])
    #expect(control.maxAge == 10)
    #expect(control.noCache && control.mustRevalidate)
    #expect(control.staleIfError == 5)
    #expect(control.staleWhileRevalidate == 7)
    #expect(!control.noStore)
  }

  @Test(
    arguments: [
      ("max-age=abc", 0), ("max-age", 0), ("max-age=-5", 0), ("max-age=10, max-age=5", 0),
      ("max-age=10, max-age=10", 10), ("max-age=99999999999999999999", 1 << 31),
      ("max-age=1.5", 0), ("max-age=10 public", 0), ("max-age=10; public", 0),
      ("max-age=\"10", 0), ("max-age = 10", 0), ("max-age=10, =5", 0), ("max-age=10, \"x\"", 0),
      ("max-age==10", 0), ("public; x", 0),
    ] as [(String, Int64)])
  func `what cannot be read, or contradicts itself, counts as stale`(text: String, seconds: Int64) {
    #expect(CacheControl(["Cache-Control": text]).maxAge == seconds)
  }

  @Test(
    arguments: [
      "max-age=60 no-store", "max-age=60; no-store", "\"no-store\"", "max-age=\"60, no-store",
      "no-store;", "=no-store", "max-age=60; x=\"a, No-Store\"", "no-store=1", "@no-store",
    ])
  func `no-store is obeyed wherever it is in a malformed field`(text: String) {
    #expect(CacheControl(["Cache-Control": text]).noStore)
    let other = text.replacing("no-store", with: "no-cache").replacing("No-Store", with: "NO-CACHE")
    #expect(CacheControl(["Cache-Control": other]).noCache)
    #expect(CacheControl(["Cache-Control": "max-age=5", "cache-control": text]).maxAge ?? 0 <= 5)
  }

  @Test func `a malformed field gives no time to a stale response; a part of a word is none`() {
    let control = CacheControl([
      "Cache-Control": "stale-while-revalidate=9, stale-if-error=9",
      "cache-control": "max-stale=9; xno-store no-storex",
    ])
    #expect(control.staleWhileRevalidate ?? 0 == 0 && control.staleIfError ?? 0 == 0)
    #expect(control.maxStale ?? 0 == 0 && !control.noStore && control.maxAge == 0)
  }

  @Test func `Pragma counts only without Cache-Control`() {
    #expect(CacheControl(["Pragma": "No-Cache"]).noCache)
    #expect(CacheControl(["Pragma": "x, no-cache"]).noCache)
    #expect(!CacheControl(["Pragma": "no-cache", "Cache-Control": "max-age=5"]).noCache)
    #expect(!CacheControl(["Pragma": "x"]).noCache)
  }
}

@Suite struct LifetimeTests {
  private func lifetime(_ headers: HeaderFields) -> Double {
    Freshness(response(headers), defaults: Freshness.Defaults()).lifetime
  }

  @Test func `max-age wins over Expires, and both over a guess`() {
    let expires = date(100)
    #expect(lifetime(["Cache-Control": "max-age=60", "Expires": expires, "Date": date(0)]) == 60)
    #expect(lifetime(["Expires": expires, "Date": date(-10)]) == 110)
    #expect(lifetime(["Expires": "0", "Last-Modified": date(-100_000)]) == 0)
    #expect(lifetime(["Cache-Control": "s-maxage=9", "Expires": expires, "Date": date(0)]) == 100)
  }

  @Test func `guesses a tenth of the time since the last change, at most a day`() {
    #expect(lifetime(["Date": date(0), "Last-Modified": date(-1000)]) == 100)
    #expect(lifetime(["Date": date(0), "Last-Modified": date(-100_000_000)]) == 86_400)
    #expect(lifetime([:]) == 300)
    #expect(lifetime(["ETag": "\"1\""]) == 300)
    #expect(lifetime(["Date": date(0), "Last-Modified": "yesterday"]) == 0)
    #expect(lifetime(["Date": date(0), "Last-Modified": date(5)]) == 0)
    #expect(lifetime(["Pragma": "no-cache", "Last-Modified": date(-1000)]) == 0)
  }

  @Test func `the age counts the time at caches, on the way, and here`() {
    func age(_ headers: HeaderFields, delay: Double = 0) -> Double? {
      Freshness(response(headers, delay: delay), defaults: Freshness.Defaults()).age(at: now + 10)
    }
    #expect(age(["Date": date(0)]) == 10)
    #expect(age(["Date": date(-30)]) == 40)
    #expect(age(["Date": date(0), "Age": "50"], delay: 2) == 62)
    #expect(age(["Date": date(500)]) == 10)
    #expect(age(["Age": "nonsense"]) == 10)
  }
}

@Suite struct FreshnessUseTests {
  private func use(
    _ control: String, after seconds: Double, request: String = ""
  ) -> FreshnessUse {
    Freshness(response(["Cache-Control": control]), defaults: Freshness.Defaults())
      .use(at: now + seconds, for: CacheControl(["Cache-Control": request]))
  }

  @Test func `a response is fresh until its age reaches its lifetime`() {
    #expect(use("max-age=60", after: 59) == .fresh)
    #expect(use("max-age=60", after: 60) == .afterValidation)
    #expect(use("max-age=60, no-cache", after: 1) == .afterValidation)
    #expect(use("max-age=0", after: 0) == .afterValidation)
  }

  @Test func `stale-while-revalidate extends the use, must-revalidate forbids it`() {
    let both = "max-age=60, stale-while-revalidate=30"
    #expect(use(both, after: 89) == .staleWhileRevalidating)
    #expect(use(both, after: 90) == .afterValidation)
    #expect(use(both + ", must-revalidate", after: 61) == .afterValidation)
  }

  @Test func `a clock that was set back makes everything uncertain`() {
    #expect(use("max-age=60, stale-while-revalidate=30", after: -1) == .afterValidation)
    #expect(use("max-age=60, immutable", after: -1) == .afterValidation)
  }

  @Test func `a request may ask for more, or for less`() {
    #expect(use("max-age=60", after: 10, request: "max-age=5") == .afterValidation)
    #expect(use("max-age=60", after: 10, request: "max-age=10") == .fresh)
    #expect(use("max-age=60", after: 10, request: "min-fresh=50") == .fresh)
    #expect(use("max-age=60", after: 10, request: "min-fresh=51") == .afterValidation)
    #expect(use("max-age=60", after: 10, request: "no-cache") == .afterValidation)
    #expect(use("max-age=60", after: 90, request: "max-stale") == .fresh)
    #expect(use("max-age=60", after: 90, request: "max-stale=29") == .afterValidation)
    #expect(use("max-age=60, must-revalidate", after: 90, request: "max-stale") == .afterValidation)
  }

  @Test func `immutable does not stop a confirmation that is asked for`() {
    #expect(use("max-age=60, immutable", after: 10) == .fresh)
    #expect(use("max-age=60, immutable", after: 10, request: "no-cache") == .afterValidation)
    #expect(use("max-age=60, immutable", after: 10, request: "max-age=0") == .afterValidation)
  }

  @Test func `a failure allows stale values for as long as the server says`() {
    func may(_ control: String, _ seconds: Double, _ isDisconnected: Bool) -> Bool {
      Freshness(response(["Cache-Control": control]), defaults: Freshness.Defaults())
        .mayBeUsedStale(
          at: now + seconds, isDisconnected: isDisconnected, staleWhenDisconnected: 1000)
    }
    #expect(may("max-age=60, stale-if-error=30", 80, false))
    #expect(!may("max-age=60, stale-if-error=30", 90, false))
    #expect(!may("max-age=60", 80, false))
    #expect(may("max-age=60", 80, true))
    #expect(!may("max-age=60", 1060, true))
    #expect(!may("max-age=60, must-revalidate, stale-if-error=30", 80, true))
    #expect(!may("no-cache", 80, true))
    #expect(!may("max-age=60", -1, true))
  }
}

@Suite struct StoredResponseTests {
  @Test func `stores whole answers that may be stored`() {
    func isStorable(_ headers: HeaderFields, status: Int = 200, request: String = "") -> Bool {
      response(headers, status: status).isStorable(
        to: CacheControl(["Cache-Control": request]))
    }
    #expect(isStorable([:]))
    #expect(isStorable(["Cache-Control": "private"]))
    #expect(isStorable(["Vary": "Accept"]))
    #expect(!isStorable(["Vary": "Accept, *"]))
    #expect(!isStorable(["Cache-Control": "no-store"]))
    #expect(!isStorable(["Cache-Control": "no-store, must-understand"]))
    #expect(!isStorable([:], request: "no-store"))
    for status in [206, 301, 404, 500] { #expect(!isStorable([:], status: status)) }
  }

  @Test func `keeps no field of the connection and no cookie`() {
    let stored = response([
      "Connection": "X-Hop, close", "X-Hop": "1", "Set-Cookie": "s=1", "Keep-Alive": "5",
      "Content-Type": "image/png", "X-Own": "2",
    ])
    #expect(stored.headers.map(\.name) == ["Content-Type", "X-Own"])
  }

  @Test func `asks with both validators, as they were received`() {
    let stored = response(["ETag": "W/\"a\"", "Last-Modified": date(-5)])
    #expect(
      stored.conditions.map { "\($0.name): \($0.value)" } == [
        "If-None-Match: W/\"a\"", "If-Modified-Since: \(date(-5))",
      ])
    #expect(response(["ETag": "a", "Last-Modified": "yesterday"]).conditions.isEmpty)
  }

  @Test func `a 304 replaces fields, but not those of the body`() {
    let stored = response([
      "ETag": "\"a\"", "Age": "50", "Content-Length": "5", "Cache-Control": "max-age=1", "X": "1",
    ])
    let fresh = stored.refreshed(
      by: ["Cache-Control": "max-age=9", "Content-Length": "0", "ETag": "\"a\""],
      requestedAt: now + 5, answeredAt: now + 6)
    #expect(fresh.headers["Age"] == nil)
    #expect(fresh.headers["Content-Length"] == "5")
    #expect(fresh.headers.values(of: "Cache-Control") == ["max-age=9"])
    #expect(fresh.headers["X"] == "1")
    #expect(fresh.answeredAt == now + 6)
  }

  @Test func `a 304 with another validator confirms nothing`() {
    let stored = response(["ETag": "\"a\"", "Last-Modified": date(-5)])
    #expect(stored.isConfirmed(by: ["ETag": "\"a\""]))
    #expect(stored.isConfirmed(by: ["ETag": "W/\"a\""]))
    #expect(stored.isConfirmed(by: [:]))
    #expect(!stored.isConfirmed(by: ["ETag": "\"b\""]))
    #expect(!stored.isConfirmed(by: ["Last-Modified": date(-4)]))
    // Nothing was asked, so nothing is confirmed.
    #expect(!response(["Cache-Control": "max-age=0"]).isConfirmed(by: [:]))
  }

  @Test func `Vary selects by the values of the request`() {
    let vary = VaryNames(["Vary": "Accept, accept-encoding", "vary": "X"])
    #expect(vary == .names(["accept", "x"]))
    let selection = vary.selection(of: ["X": " 1 ", "x": "2", "Accept": "a", "Y": "3"])
    #expect(selection.map { "\($0.name)=\($0.value)" } == ["accept=a", "x=1, 2"])
    #expect(VaryNames(["Vary": "*"]) == .everything)
  }

  @Test func `two requests share a key only if they agree in every possible credential`() throws {
    let url = try ResourceURL("http://example.com/a")
    func key(_ headers: HeaderFields, _ url: ResourceURL) -> ResourceKey {
      ResourceKey(ResourceRequest(url, headers: headers))
    }
    #expect(key(["Accept": "a"], url) == key(["User-Agent": "b"], url))
    #expect(key(["Authorization": "a"], url) != key(["authorization": "b"], url))
    #expect(key(["X-Api-Key": "a"], url) != key([:], url))
    #expect(key(["Cookie": "a"], url).digest != key(["Cookie": "b"], url).digest)
    #expect(key(["Pragma": "no-cache"], url) == key([:], url))
    let other = try ResourceURL("http://u:p@example.com/a")
    #expect(key([:], other) != key([:], url))
    #expect(key([:], other).digest != key([:], url).digest)
    #expect(!key([:], other).digest.contains("u:p"))
  }

  @Test func `the case of the host, a default port and an empty path do not count`() throws {
    func key(_ text: String) throws -> ResourceKey {
      ResourceKey(ResourceRequest(try ResourceURL(text)))
    }
    for text in ["HTTP://LocalHost/", "http://localhost:80", "http://LOCALHOST:80/"] {
      #expect(try key(text) == key("http://localhost/"))
      #expect(try key(text).digest == key("http://localhost/").digest)
    }
    #expect(try key("http://LOCALHOST:8080/A?B=c") == key("http://localhost:8080/A?B=c"))
    #expect(try key("http://localhost/A") != key("http://localhost/a"))
    #expect(try key("http://localhost:443/") != key("https://localhost/"))
    #expect(try key("http://u:P@LOCALHOST/") == key("http://u:P@localhost/"))
    #expect(try key("http://u:P@LOCALHOST/") != key("http://u:p@localhost/"))
  }
}

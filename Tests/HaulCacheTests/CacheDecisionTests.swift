import Foundation
import HaulCache
import HaulCore
import Testing

/// What a response means for a copy: the one decision of both caches.
@Suite struct CacheDecisionTests {
  private static let copied: HeaderFields = ["ETag": "\"1\"", "Cache-Control": "max-age=9"]

  private func decide(
    _ status: Int, _ headers: HeaderFields = [:], request: String = "",
    beside copied: HeaderFields? = copied, _ body: String? = "body", isRedirected: Bool = false,
    obstacle: String? = nil
  ) -> CacheDecision {
    let response = ResourceResponse(
      status: status, headers: headers, requestedAt: 10, answeredAt: 11,
      wasRedirected: isRedirected)
    let copy = copied.map {
      StoredResponse(status: 200, headers: $0, requestedAt: 1, answeredAt: 2)
    }
    return CacheDecision(
      on: response, to: CacheControl(["Cache-Control": request]), beside: copy,
      body.map { Data($0.utf8) }, obstacle: obstacle)
  }

  private func isRemoved(_ decision: CacheDecision) -> Bool {
    if case .removed = decision.copies { true } else { false }
  }

  @Test func `a 304 confirms the copy, whose fields it replaces`() {
    let decision = decide(304, ["ETag": "\"1\"", "Cache-Control": "max-age=5"])
    #expect((decision.answer, decision.copies) == (.copy, .replaced))
    #expect(decision.response.headers["Cache-Control"] == "max-age=5")
    #expect((decision.response.status, decision.response.answeredAt) == (200, 11))
  }

  @Test func `a 304 of another version or address, or of other bytes, confirms nothing`() {
    for decision in [
      decide(304, ["ETag": "\"2\""]), decide(304, isRedirected: true),
      decide(304, beside: ["Cache-Control": "max-age=9"]),
      decide(304, ["Digest": "MD5=AAAAAAAAAAAAAAAAAAAAAA=="]),
      decide(304, ["Digest": "MD5=AAAAAAAAAAAAAAAAAAAAAA=="], nil),
    ] {
      #expect(decision.answer == .nothing)
      #expect(isRemoved(decision))
    }
  }

  @Test func `a 304 may state the digest that is known, or that the body has`() {
    let known: HeaderFields = ["ETag": "\"1\"", "Digest": "MD5=hBotaJrYa9FhFEdFPCLG/A=="]
    let digest: HeaderFields = ["Digest": "MD5=hBotaJrYa9FhFEdFPCLG/A=="]
    #expect(decide(304, digest, beside: known, nil).answer == .copy)
    #expect(decide(304, digest).answer == .copy)
  }

  @Test func `a 304 that nothing was asked for is a response like any other`() {
    let decision = decide(304, beside: nil, nil)
    #expect((decision.answer, decision.copies) == (.response, .kept))
  }

  @Test func `a confirmed copy that may not be stored is used once, and removed`() {
    for decision in [decide(304, ["Cache-Control": "no-store"]), decide(304, request: "no-store")] {
      #expect(decision.answer == .copy)
      #expect(isRemoved(decision))
    }
  }

  @Test func `a whole response replaces copies, unless something forbids it`() {
    for status in [200, 203] {
      #expect(decide(status).copies == .replaced)
      #expect(decide(status, beside: nil, nil).copies == .replaced)
      for decision in [
        decide(status, ["Cache-Control": "no-store"]), decide(status, ["Vary": "*"]),
        decide(status, request: "no-store"), decide(status, isRedirected: true),
        decide(status, obstacle: "it is too large"),
      ] {
        #expect(decision.answer == .response)
        #expect(isRemoved(decision))
      }
    }
    let redirected = decide(200, ["Cache-Control": "max-age=9"], isRedirected: true)
    #expect(!redirected.response.isStorable(to: CacheControl()))
  }

  @Test func `404 and 410 remove copies, and other failures keep them`() {
    for status in [404, 410] { #expect(isRemoved(decide(status))) }
    for status in [401, 403, 429, 500, 503] {
      let decision = decide(status, obstacle: "it is too large")
      #expect((decision.answer, decision.copies) == (.response, .kept))
    }
  }
}

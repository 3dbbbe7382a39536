import HaulTesting
import Testing

/// The script as JSON.
@Suite
struct ScriptTests {
  static let actions: [Fault.Action] = [
    .content(seed: .max, length: 5), .content(seed: 1), .entityTag(value: nil),
    .entityTag(value: "W/\"x\""), .lastModified(seconds: nil), .ignoreRange, .ignoreIfRange,
    .refuseIfRange, .respond(status: 503, reason: "No", headers: ["A: b"], body: "x"),
    .redirect(status: 301, location: nil), .retryLater(seconds: 5, asDate: true),
    .rangeNotSatisfiable(withTotal: false), .raw(text: "x\u{9B}", then: .reset),
    .unaskedPartial, .contentRange(value: nil), .shiftRange(by: -1, honest: false),
    .shortenRange(to: 3), .multipart, .lengthenBody(by: 3, declared: false),
    .declareLength(by: -3), .contentLength(values: ["1", "2"]),
    .chunked(terminal: false, trailers: ["A: b"]),
    .closeDelimited(version: "1.1", closeNotify: false), .endless(chunked: false),
    .setHeaders(fields: ["A: b"]), .addHeaders(fields: ["A: b"]), .removeHeaders(names: ["A"]),
    .digest(field: .legacy, wrong: true), .hostileText(place: .fold),
    .headerBomb(lineBytes: 1, fields: 2),
    .informational(status: 100, count: nil, headers: ["A: b"], milliseconds: 3),
    .cut(how: .closeWithoutNotify, after: 7, in: .head), .drip(bytes: 2, milliseconds: 3),
    .rate(bytesPerSecond: 4), .closeAfterwards(announced: true),
  ]

  @Test func `keeps every action, match and property`() throws {
    var fault = Fault(
      when: .init(
        method: "GET", has: .ifRange, firstRequest: 1, lastRequest: 2, skip: 3, times: 4,
        offsetAtLeast: 5, offsetBelow: 6, othersInProgress: 7, withHeader: "a",
        withoutHeader: "b"))
    fault.actions = Self.actions
    let full = FaultScript.Resource("/f", seed: .max, length: 6 << 30, faults: [fault]).with {
      $0.entityTag = nil
      $0.lastModified = nil
      $0.dateOffset = nil
      $0.contentType = nil
      $0.contentDisposition = "inline"
      $0.headers = ["A: b"]
      $0.acceptRanges = .absent
      $0.rate = 5
      $0.redirect = .init(status: 307, location: "/g")
    }
    let script = FaultScript([full, .init("/g", length: 1)])
    #expect(try FaultScript(json: script.json()) == script)
  }

  @Test func `has defaults for missing values`() throws {
    let text = """
      {"resources": [{"path": "/f", "seed": 7, "length": 10, "faults": [
        {"do": [{"cut": {"how": "reset", "after": 100}}], "when": {"times": 1, "has": "range"}},
        {"do": [{"ignoreRange": {}}, {"retryLater": {"seconds": 3}}, {"chunked": {}},
                {"closeDelimited": {}}, {"rangeNotSatisfiable": {}}, {"digest": {}}]}
      ]}]}
      """
    let expected = FaultScript.Resource(
      "/f", seed: 7, length: 10,
      faults: [
        Fault(.reset(after: 100), when: .first(1, has: .range)),
        Fault(
          .ignoreRange, .retryLater(seconds: 3), .chunked(), .closeDelimited(),
          .rangeNotSatisfiable(), .digest()),
      ])
    #expect(try FaultScript(json: text.utf8).resources == [expected])
  }

  @Test func `refuses an unknown action`() {
    let text =
      #"{"resources": [{"path": "/f", "length": 1, "faults": [{"do": [{"explode": {}}]}]}]}"#
    #expect(throws: DecodingError.self) { try FaultScript(json: text.utf8) }
  }
}

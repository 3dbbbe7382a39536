import HaulCore
import Testing

/// The meaning of an answer for the requested bytes.
@Suite
struct ResponseJudgeTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let status: Int
    let fields: [(String, String)]
    /// The first requested byte; nil sends no range.
    var asked: Int64? = 10
    let verdict: String

    var testDescription: String {
      "\(status) \(fields.map { "\($0.0): \($0.1)" }) to \(asked ?? -1)"
    }
  }

  static let right = ("Content-Range", "bytes 10-19/100")

  static let table: [Case] = [
    Case(
      status: 206, fields: [right, ("Content-Length", "10")], verdict: "range 10-20/100 length"),
    Case(status: 206, fields: [right], verdict: "range 10-20/100 close"),
    Case(
      status: 206, fields: [right, ("Transfer-Encoding", "chunked")],
      verdict: "range 10-20/100 chunked"),
    Case(
      status: 206, fields: [("Content-Range", "bytes 10-19/*")], verdict: "range 10-20/? close"),
    Case(status: 206, fields: [right, ("Content-Length", "9")], verdict: "unusable"),
    Case(status: 206, fields: [("Content-Range", "bytes 11-19/100")], verdict: "unusable"),
    Case(status: 206, fields: [("Content-Range", "bytes 0-19/100")], verdict: "unusable"),
    Case(status: 206, fields: [("Content-Range", "bytes 10-9/100")], verdict: "unusable"),
    Case(status: 206, fields: [("Content-Range", "bytes */100")], verdict: "unusable"),
    Case(status: 206, fields: [], verdict: "unusable"),
    Case(status: 206, fields: [right, right], verdict: "unusable"),
    Case(
      status: 206, fields: [("Content-Type", "multipart/byteranges; boundary=x")],
      verdict: "unusable"),
    Case(status: 206, fields: [right, ("Content-Encoding", "gzip")], verdict: "unusable"),
    Case(
      status: 206, fields: [right, ("Content-Encoding", "identity")],
      verdict: "range 10-20/100 close"),
    Case(
      status: 206, fields: [right, ("Content-Length", "ten")], verdict: "failure protocol-violation"
    ),
    Case(status: 206, fields: [right], asked: nil, verdict: "failure protocol-violation"),
    Case(
      status: 206, fields: [("Content-Range", "bytes 0-99/100"), ("Content-Length", "100")],
      asked: nil, verdict: "whole 0-100/100 length"),
    Case(
      status: 206, fields: [("Content-Range", "bytes 0-98/100")], asked: nil,
      verdict: "failure protocol-violation"),
    Case(
      status: 206, fields: [("Content-Range", "bytes 0-99/100"), ("Content-Length", "99")],
      asked: nil, verdict: "failure protocol-violation"),
    Case(status: 200, fields: [("Content-Length", "100")], verdict: "whole 0-100/100 length"),
    Case(status: 200, fields: [], verdict: "whole 0-?/? close"),
    Case(
      status: 200, fields: [("Transfer-Encoding", "chunked")], verdict: "whole 0-?/? chunked"),
    Case(status: 200, fields: [("Content-Length", "0")], verdict: "empty"),
    Case(status: 200, fields: [("Content-Length", "-1")], verdict: "failure protocol-violation"),
    Case(status: 416, fields: [("Content-Range", "bytes */5")], verdict: "unsatisfiable 5"),
    Case(status: 416, fields: [("Content-Range", "bytes */0")], verdict: "unsatisfiable 0"),
    Case(status: 416, fields: [("Content-Range", "bytes */0")], asked: 0, verdict: "empty"),
    Case(status: 416, fields: [], verdict: "unsatisfiable ?"),
    Case(status: 401, fields: [], verdict: "failure unauthorized"),
    Case(status: 403, fields: [], verdict: "failure forbidden"),
    Case(status: 404, fields: [], verdict: "failure not-found"),
    Case(status: 407, fields: [], verdict: "failure proxy"),
    Case(
      status: 429, fields: [("Retry-After", "7")], verdict: "failure rate-limited again after 7"),
    Case(status: 503, fields: [], verdict: "failure http-status again"),
    Case(status: 500, fields: [], verdict: "failure http-status again"),
    Case(status: 501, fields: [], verdict: "failure http-status"),
    Case(status: 420, fields: [], verdict: "failure rate-limited again"),
    Case(status: 509, fields: [], verdict: "failure http-status again"),
    Case(status: 520, fields: [], verdict: "failure http-status again"),
    Case(status: 599, fields: [], verdict: "failure http-status again"),
    Case(status: 203, fields: [("Content-Length", "100")], verdict: "whole 0-100/100 length"),
    Case(
      status: 203, fields: [("Transfer-Encoding", "gzip")], verdict: "failure protocol-violation"),
    Case(status: 226, fields: [("Content-Length", "100")], verdict: "whole 0-100/100 length"),
    Case(status: 299, fields: [("Content-Length", "0")], verdict: "empty"),
    Case(status: 201, fields: [], verdict: "failure http-status"),
    Case(status: 202, fields: [], verdict: "failure http-status"),
    Case(
      status: 202, fields: [("Retry-After", "7")], verdict: "failure http-status again after 7"),
    Case(status: 204, fields: [], verdict: "failure http-status"),
    Case(status: 205, fields: [], verdict: "failure http-status"),
    Case(status: 207, fields: [], verdict: "failure http-status"),
    Case(status: 208, fields: [], verdict: "failure http-status"),
    Case(status: 300, fields: [], verdict: "failure http-status"),
    Case(status: 304, fields: [], verdict: "failure http-status"),
  ]

  @Test(arguments: table)
  func `Each answer has one verdict`(_ line: Case) throws {
    let url = try ResourceURL("http://a.example/f")
    let head = ResponseHead(status: line.status, headers: HeaderFields(line.fields), url: url)
    let verdict = ResponseJudge(wallSeconds: 0)
      .verdict(on: head, to: FetchRequest(url: url, firstByte: line.asked))
    #expect(text(verdict) == line.verdict)
  }

  @Test(arguments: [420, 429])
  func `The fact of a limit of requests says what it is, after a redirect too`(status: Int) throws {
    let url = try ResourceURL("http://a.example/f")
    let places = [(false, ""), (true, " (at http://a.example/f)")]
    for (wasRedirected, place) in places {
      let head = ResponseHead(status: status, url: url, wasRedirected: wasRedirected)
      let verdict = ResponseJudge(wallSeconds: 0).verdict(on: head, to: FetchRequest(url: url))
      guard case .failure(let error) = verdict else {
        Issue.record("it was taken: \(verdict)")
        return
      }
      #expect(error.fact == "the server answered \(status), too many requests\(place)")
      #expect(error.advice == "try again later")
    }
  }

  @Test(arguments: [
    ("http://a.example:8443/f", true), ("http://a.example/f", false),
    ("https://a.example:8443/f", false),
  ])
  func `400 to plain HTTP at another port than 80 may come from a server of https`(
    address: String, isHinted: Bool
  ) throws {
    let url = try ResourceURL(address)
    let verdict = ResponseJudge(wallSeconds: 0)
      .verdict(on: ResponseHead(status: 400, url: url), to: FetchRequest(url: url))
    guard case .failure(let error) = verdict else {
      Issue.record("it was taken: \(verdict)")
      return
    }
    #expect(
      error.message == "the server answered 400; the request was not served"
        + (isHinted ? "; is it https://?" : ""))
  }

  @Test func `A body that a proxy may have changed is no version of the server's`() throws {
    let url = try ResourceURL("http://a.example/f")
    let tags: [(Int, String?)] = [(203, nil), (200, "\"1\""), (226, "\"1\"")]
    for (status, tag) in tags {
      let head = ResponseHead(status: status, headers: ["ETag": "\"1\""], url: url)
      let verdict = ResponseJudge(wallSeconds: 0).verdict(on: head, to: FetchRequest(url: url))
      guard case .whole(let body) = verdict else {
        Issue.record("\(status): \(verdict)")
        continue
      }
      #expect(body.validator.entityTag == tag)
    }
  }

  @Test func `An answer without the file says why`() throws {
    let url = try ResourceURL("http://a.example/f")
    for (status, reason) in [(202, "still preparing"), (304, "nobody asked")] {
      let head = ResponseHead(status: status, url: url)
      let verdict = ResponseJudge(wallSeconds: 0).verdict(on: head, to: FetchRequest(url: url))
      guard case .failure(let error) = verdict else {
        Issue.record("\(status): \(verdict)")
        continue
      }
      #expect(error.message.contains(reason))
    }
  }

  private func text(_ verdict: ResponseVerdict) -> String {
    switch verdict {
    case .range(let body): "range \(text(body))"
    case .whole(let body): "whole \(text(body))"
    case .empty: "empty"
    case .unusableRange: "unusable"
    case .unsatisfiable(let length): "unsatisfiable \(text(length))"
    case .failure(let error):
      "failure \(error.code.rawValue)\(error.isRetryable ? " again" : "")"
        + (error.retryAfter.map { " after \($0.components.seconds)" } ?? "")
    }
  }

  private func text(_ body: ResponseBody) -> String {
    "\(body.start)-\(text(body.end))/\(text(body.total)) \(body.framing)"
  }

  private func text(_ number: Int64?) -> String { number.map { "\($0)" } ?? "?" }
}

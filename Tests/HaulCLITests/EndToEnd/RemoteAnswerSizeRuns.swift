import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// What the daemon holds of its answers while a client over TCP does not read them.
@Suite(.timeLimit(.minutes(10)))
struct RemoteAnswerSizeRuns {
  /// Adds a hundred transfers, whose documents have 6 MiB.
  private func addLong(_ remote: RemoteFixture) async throws {
    #expect(try await remote.fixture.haul("suspend").status == 0)
    let long = String(repeating: "a", count: 60_000)
    for batch in 0..<2 {
      let transfers = (0..<50).map {
        #"{"url":"http://127.0.0.1:1/\#(long)","file":"\#(remote.root)/\#(batch)-\#($0)"}"#
      }
      let added = try remote.call(
        "POST", "/api/v1/transfers", remote.fields + ["Content-Type: application/json"],
        body: #"{"transfers":[\#(transfers.joined(separator: ","))]}"#)
      #expect(added.status == 201)
    }
  }

  @Test func `the event stream writes no more than a page at once`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      try await addLong(remote)
      let file = try SocketCall.connection(to: .port(remote.port))
      let head = ["GET /api/v1/events HTTP/1.1"] + remote.fields
      try file.write(contentsOf: Data((head.joined(separator: "\r\n") + "\r\n\r\n").utf8))
      let (ready, lineEnd) = (Data("event: ready".utf8), Data("\r\n".utf8))
      var answer = Data()
      while true {
        let new = file.availableData
        try #require(!new.isEmpty)
        answer += new
        if answer.suffix(new.count + ready.count).range(of: ready) != nil { break }
      }
      // Each write is a chunk, which begins with its length.
      let body = try #require(answer.range(of: Data("\r\n\r\n".utf8))).upperBound
      var (rest, sizes) = (answer[body...], [Int]())
      while let end = rest.range(of: lineEnd) {
        let digits = String(decoding: rest[..<end.lowerBound], as: UTF8.self)
        let size = try #require(Int(digits, radix: 16), "\(digits.prefix(100))")
        sizes.append(size)
        rest = rest[end.upperBound...].dropFirst(size + lineEnd.count)
      }
      #expect(sizes.allSatisfy { $0 < 4 << 20 + 1 << 16 }, "\(sizes)")
      #expect(sizes.reduce(0, +) > 6_000_000)
    }
  }

  @Test func `a page of the list ends at 4 MiB, and the next one goes on there`() async throws {
    try await RemoteFixture.with { (remote) async throws in
      try await addLong(remote)
      var (ids, pages, query): ([TransferID], Int, String) = ([], 0, "limit=1000")
      while true {
        let call = try remote.call("GET", "/api/v1/transfers?\(query)", remote.fields)
        #expect(call.body.utf8.count < 4 << 20 + 1 << 16)
        let page = try JSONDecoder().decode(TransferPage.self, from: Data(call.body.utf8))
        ids += page.transfers.map(\.id)
        pages += 1
        guard let next = page.next else { break }
        query = "limit=1000&after=\(next)"
      }
      #expect(pages == 2)
      #expect(ids.count == 100 && Set(ids).count == 100)
    }
  }
}

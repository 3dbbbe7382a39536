import Foundation
import HaulLibC
import Testing

/// The page itself is driven in a browser by Scripts/gallery-test.
extension ExampleRuns {
  @Test
  func `AppGallery: rows that ask at once cause one request, which a purge does not repeat`()
    async throws
  {
    try await CommandFixture.with { fixture in
      let port = try Self.freePort()
      let run = try await CommandRun(
        ["icons", "\(port)"], in: fixture.directory, program: program("AppGallery"))
      try await run.reach("it listened") { output, _ in
        output == "the table is at http://127.0.0.1:\(port)\n"
      }
      func get(_ path: String, _ method: String = "GET") throws -> SocketCall {
        try SocketCall(method, path, ["Host: localhost"], at: .port(port))
      }
      #expect(try get("/").body.contains(#"<script src="gallery.js""#))
      let apps = try JSONSerialization.jsonObject(with: Data(try get("/apps.json").body.utf8))
      #expect((apps as? [Any])?.count == 500)

      let rows = try (0..<20).map { _ in try SocketCall.send("/icons/7", at: .port(port)) }
      // It leaves before its icon arrives, which is requested all the same.
      try SocketCall.send("/icons/8", at: .port(port)).close()
      #expect(try get("/purge", "POST").status == 204)
      for row in rows {
        let icon = try SocketCall(readingFrom: row)
        #expect(icon.status == 200 && icon.head.contains("image/bmp"), "\(icon.head)")
        #expect(icon.body.hasPrefix("BM"))
      }
      #expect(try get("/purge", "POST").status == 204)
      #expect(try get("/icons/7").status == 200)
      #expect(try get("/icons/8").status == 200)
      #expect(try get("/icons/1024").status == 502)
      let counts = try JSONDecoder().decode(
        [String: Int].self, from: Data(try get("/counts").body.utf8))
      #expect(counts == ["requests": 2, "icons": 2, "most": 1])
      run.send(SIGTERM)
      #expect(await run.end().status == 0)
    }
  }

  /// A port that nothing listens on now.
  private static func freePort() throws -> Int {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    defer { withExtendedLifetime(file) {} }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
      }
    }
    try #require(code == 0)
    return Int(in_port_t(bigEndian: address.sin_port))
  }
}

import HaulControl
import HaulCore
import HaulDaemon
import Testing

/// Whose tries of the password are limited together.
@Suite struct LoginClientTests {
  private let proxies: Set<UInt32> = [0, 33]

  private func client(_ peer: LoginClient.Peer, _ forwarded: String?) -> LoginClient {
    LoginClient(peer, forwarded: forwarded, proxies: proxies)
  }

  private func address(_ text: String) throws -> LoginTries.Client {
    .address(try #require(IPAddress(text)))
  }

  @Test func `over a socket, only the proxy's user names an address`() throws {
    for user: UInt32 in [0, 33] {
      let own = client(.user(user), "203.0.113.1, 192.0.2.7")
      #expect(own.client == (try address("192.0.2.7")), "the last one")
      #expect(own.description == "192.0.2.7")
      #expect(client(.user(user), nil).client == .user(user))
      #expect(client(.user(user), "x").client == .user(user))
    }
    let stranger = client(.user(1000), "192.0.2.7")
    #expect(stranger.client == .user(1000))
    #expect(stranger.description.contains("user 1000") && stranger.description.contains("proxy"))
    #expect(client(.user(1000), "192.0.2.8").client == stranger.client)
    #expect(client(.user(nil), "192.0.2.7").client == (try address("::")))
  }

  @Test func `over TCP, only this machine names an address`() throws {
    #expect(client(.address("127.0.0.1"), "192.0.2.7").client == (try address("192.0.2.7")))
    #expect(client(.address("::1"), "2001:db8::1").client == (try address("2001:db8::1")))
    #expect(client(.address("127.0.0.1"), nil).client == (try address("127.0.0.1")))
    #expect(client(.address("198.51.100.1"), "192.0.2.7").client == (try address("198.51.100.1")))
    #expect(client(.address(nil), "192.0.2.7").client == (try address("::")))
  }
}

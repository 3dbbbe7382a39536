import HaulControl
import HaulCore
import HaulTesting
import Testing

/// Tries of the page's password.
@Suite struct LoginTriesTests {
  private let clock = ManualClock()
  private let address: LoginTries.Client
  private let other: LoginTries.Client

  init() throws {
    (address, other) = (try Self.address("192.0.2.1"), try Self.address("192.0.2.2"))
  }

  private static func address(_ text: String) throws -> LoginTries.Client {
    .address(try #require(IPAddress(text)))
  }

  private func fail(_ client: LoginTries.Client, _ tries: inout LoginTries) -> LoginTries.Answer {
    let answer = tries.begin(client, at: clock.now)
    if answer == .go { tries.end(client, isRight: false, at: clock.now) }
    return answer
  }

  @Test func `after some wrong ones, each doubles the wait, up to a limit`() {
    var tries = LoginTries()
    for _ in 0..<LoginTries.free { #expect(fail(address, &tries) == .go) }
    for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
      #expect(fail(address, &tries) == .wait(.seconds(seconds)))
      clock.advance(by: .seconds(seconds) - .milliseconds(1))
      #expect(fail(address, &tries) == .wait(.milliseconds(1)), "a try does not make it longer")
      clock.advance(by: .milliseconds(1))
      #expect(fail(address, &tries) == .go)
    }
    clock.advance(by: .seconds(3600))
    #expect(fail(address, &tries) == .go)
    #expect(fail(address, &tries) == .go, "they are forgotten")
  }

  @Test func `no other address waits, and a right one forgets the wrong ones`() {
    var tries = LoginTries()
    for _ in 0..<LoginTries.free { #expect(fail(address, &tries) == .go) }
    #expect(fail(address, &tries) == .wait(.seconds(1)))
    #expect(tries.begin(other, at: clock.now) == .go)
    tries.end(other, isRight: true, at: clock.now)
    clock.advance(by: .seconds(1))
    #expect(tries.begin(address, at: clock.now) == .go)
    tries.end(address, isRight: true, at: clock.now)
    for _ in 0..<LoginTries.free { #expect(fail(address, &tries) == .go) }
  }

  @Test(arguments: [
    ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true),
    ("2001:db8:1:2::1", "2001:db8:1:3::1", false), ("192.0.2.7", "::ffff:192.0.2.7", true),
    ("::ffff:192.0.2.7", "::ffff:192.0.2.8", false),
  ])
  func `a whole /64 is one address, and so is one that is mapped`(
    one: String, two: String, isSame: Bool
  ) throws {
    var tries = LoginTries()
    for _ in 0..<LoginTries.free { #expect(fail(try Self.address(one), &tries) == .go) }
    #expect((fail(try Self.address(two), &tries) == .wait(.seconds(1))) == isSame)
  }

  @Test func `few are computed at once, and one of each address`() throws {
    var tries = LoginTries()
    for number in 1...LoginTries.maximumTrying {
      let own = try Self.address("198.51.100.\(number)")
      #expect(tries.begin(own, at: clock.now) == .go)
      #expect(tries.begin(own, at: clock.now) == .wait(.seconds(1)))
    }
    #expect(tries.begin(address, at: clock.now) == .busy)
    tries.end(try Self.address("198.51.100.1"), isRight: false, at: clock.now)
    #expect(tries.begin(address, at: clock.now) == .go)
  }

  @Test func `one network with many addresses does not take all places`() throws {
    var tries = LoginTries()
    for number in 1...4 {
      let own = try Self.address("2001:db8:1:\(number)::1")
      let hasRoom = number <= LoginTries.maximumTryingOfNetwork
      #expect(tries.begin(own, at: clock.now) == (hasRoom ? .go : .busy))
    }
    #expect(tries.begin(try Self.address("2001:db8:2::1"), at: clock.now) == .go)
    #expect(tries.begin(address, at: clock.now) == .go)
  }

  @Test func `networks that have sent wrong ones leave places for others`() throws {
    var tries = LoginTries()
    let strangers = try (1...LoginTries.maximumTrying).map { try Self.address("198.51.100.\($0)") }
    for stranger in strangers { #expect(fail(stranger, &tries) == .go) }
    let answers = strangers.map { tries.begin($0, at: clock.now) }
    let most = LoginTries.maximumTrying - LoginTries.reserved
    #expect(answers.prefix(most).allSatisfy { $0 == .go })
    #expect(answers.dropFirst(most).allSatisfy { $0 == .busy })
    #expect(tries.begin(address, at: clock.now) == .go)
    #expect(tries.begin(.user(1000), at: clock.now) == .go)
    #expect(tries.begin(other, at: clock.now) == .busy)
    for stranger in strangers.prefix(most) { tries.end(stranger, isRight: false, at: clock.now) }
    clock.advance(by: .seconds(3600))
    #expect(strangers.prefix(most).allSatisfy { tries.begin($0, at: clock.now) == .go })
  }

  @Test func `a user of this machine waits as an address does`() {
    var tries = LoginTries()
    for _ in 0..<LoginTries.free { #expect(fail(.user(1000), &tries) == .go) }
    #expect(fail(.user(1000), &tries) == .wait(.seconds(1)))
    #expect(fail(.user(1001), &tries) == .go)
  }

  @Test func `few addresses are remembered, the ones that tried last`() throws {
    var tries = LoginTries()
    for number in 0..<3 * LoginTries.maximumClients {
      clock.advance(by: .milliseconds(1))
      let text = "10.0.\(number / 256).\(number % 256)"
      #expect(fail(try Self.address(text), &tries) == .go)
      #expect(tries.count <= LoginTries.maximumClients)
    }
  }

  @Test func `a browser that has signed in before does not wait for others`() throws {
    var tries = LoginTries()
    let browser = LoginTries.Client.browser("0123456789abcdef")
    for number in 1...LoginTries.maximumTrying {
      #expect(tries.begin(try Self.address("198.51.100.\(number)"), at: clock.now) == .go)
    }
    for _ in 0..<LoginTries.free { #expect(fail(browser, &tries) == .go) }
    #expect(fail(browser, &tries) == .wait(.seconds(1)), "its own wrong ones count")
    #expect(tries.begin(.browser("0"), at: clock.now) == .go)
    #expect(tries.begin(.browser("0"), at: clock.now) == .wait(.seconds(1)))
  }
}

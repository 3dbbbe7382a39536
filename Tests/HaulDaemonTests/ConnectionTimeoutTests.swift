import HaulDaemon
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

/// Timeouts of connections.
@Suite struct ConnectionTimeoutTests {
  private let loop = EmbeddedEventLoop()

  private func connection(_ limits: RequestTimeoutHandler.Limits) throws -> EmbeddedChannel {
    let channel = EmbeddedChannel(handler: RequestTimeoutHandler(limits), loop: loop)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    return channel
  }

  private func request(_ channel: EmbeddedChannel) throws {
    let head = HTTPRequest(method: .get, scheme: "http", authority: "h", path: "/")
    try channel.writeInbound(HTTPRequestPart.head(head))
    try channel.writeInbound(HTTPRequestPart.end(nil))
  }

  private func stopReading(_ channel: EmbeddedChannel) {
    channel.isWritable = false
    channel.pipeline.fireChannelWritabilityChanged()
  }

  @Test func `a client that does not read its answer is closed soon when the daemon ends`() throws {
    for isFirst in [true, false] {
      let channel = try connection(.client)
      try request(channel)
      if isFirst { stopReading(channel) }
      channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
      if !isFirst { stopReading(channel) }
      #expect(channel.isActive)
      loop.advanceTime(by: .seconds(1))
      #expect(!channel.isActive)
    }
  }

  @Test func `no connection outlives the end of the daemon for long`() throws {
    let channel = try connection(.client)
    try request(channel)
    channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    loop.advanceTime(by: .seconds(7))
    #expect(channel.isActive, "it is being answered")
    loop.advanceTime(by: .seconds(1))
    #expect(!channel.isActive)
  }

  @Test func `a stranger has less time than a client, for its request and for its answer`() throws {
    for isRequested in [true, false] {
      let (stranger, client) = (try connection(.stranger), try connection(.stranger))
      client.pipeline.fireUserInboundEventTriggered(ClientAdmitted())
      if isRequested {
        for channel in [stranger, client] {
          try request(channel)
          stopReading(channel)
        }
        loop.advanceTime(by: .seconds(5))
        #expect(!stranger.isActive && client.isActive)
        loop.advanceTime(by: .seconds(55))
        #expect(!client.isActive)
      } else {
        loop.advanceTime(by: .seconds(5))
        #expect(!stranger.isActive)
      }
    }
  }
}

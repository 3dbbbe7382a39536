import AsyncHTTPClient
import FoundationEssentials
import NIOCore

/// The event stream of a daemon: one subscriber, which one reader reads once.
package struct ControlEvents: AsyncSequence, Sendable {
  package typealias Failure = ControlClient.Failure
  package typealias Element = StreamMessage

  let body: HTTPClientResponse.Body

  package struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate var body: HTTPClientResponse.Body.AsyncIterator
    private var parser = EventStreamParser()
    private var ready: [StreamMessage] = []

    fileprivate init(_ body: HTTPClientResponse.Body) { self.body = body.makeAsyncIterator() }

    /// The next message; nil when the daemon has ended the stream.
    @concurrent
    package mutating func next() async throws(ControlClient.Failure) -> StreamMessage? {
      while ready.isEmpty {
        do {
          guard let bytes = try await body.next() else { return nil }
          ready = try parser.take(bytes.readableBytesView).compactMap(StreamMessage.init).reversed()
        } catch let error as StrictJSON.Malformed {
          throw .broken(error.message)
        } catch {
          throw .broken("the connection to the daemon broke: \(error)")
        }
      }
      return ready.removeLast()
    }
  }

  package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body) }
}

extension StreamMessage {
  private struct Ready: Decodable { let number: Int }

  /// Nil for a message that this version does not know.
  fileprivate init?(_ frame: EventStreamParser.Frame) throws {
    let data = Data(frame.data)
    switch frame.name {
    case "reset": self = .reset
    case "transfer": self = .transfer(try StrictJSON.decode(TransferDocument.self, from: data))
    case "ready": self = .ready(number: try StrictJSON.decode(Ready.self, from: data).number)
    case "event": self = .event(try StrictJSON.decode(EventDocument.self, from: data))
    default: return nil
    }
  }
}

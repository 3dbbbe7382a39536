import HaulCore
import HaulDaemon
import NIOConcurrencyHelpers
import Testing

/// Places of connections.
@Suite struct ConnectionPlacesTests {
  /// A connection, by its name.
  private final class Connection: Sendable {
    let name: Int
    init(_ name: Int) { self.name = name }
  }

  private let places = ConnectionPlaces(strangers: 3, clients: 2)
  private let connections = (0..<9).map(Connection.init)
  private let closed = NIOLockedValueBox<[Int]>([])

  private func enter(_ numbers: Range<Int>) {
    for number in numbers {
      places.enter(ObjectIdentifier(connections[number])) { [closed] in
        closed.withLockedValue { $0.append(number) }
      }
    }
  }

  private func admit(_ number: Int) -> Bool {
    places.admit(ObjectIdentifier(connections[number]))
  }

  private var closedNumbers: [Int] { closed.withLockedValue { $0 } }

  @Test func `a stranger too many closes the oldest stranger`() {
    enter(0..<3)
    #expect(closedNumbers == [])
    enter(3..<5)
    #expect(closedNumbers == [0, 1])
    places.leave(ObjectIdentifier(connections[3]))
    enter(5..<6)
    #expect(closedNumbers == [0, 1], "a closed one has left its place")
  }

  @Test func `one address with many connections only takes its own places`() throws {
    let (loud, quiet) = (try #require(IPAddress("192.0.2.1")), try #require(IPAddress("192.0.2.2")))
    for number in 0..<8 {
      places.enter(ObjectIdentifier(connections[number]), from: number == 0 ? quiet : loud) {
        [closed] in closed.withLockedValue { $0.append(number) }
      }
    }
    #expect(closedNumbers == [1, 2, 3, 4, 5])
  }

  @Test func `no number of strangers closes one that has shown a token`() {
    enter(0..<1)
    #expect(admit(0))
    enter(1..<9)
    #expect(closedNumbers == [1, 2, 3, 4, 5])
  }

  @Test func `one that was closed, or is one too many, gets no place`() {
    enter(0..<4)
    #expect(!admit(0))
    #expect(admit(1) && admit(2))
    #expect(!admit(3))
    places.leave(ObjectIdentifier(connections[1]))
    #expect(admit(3))
  }
}

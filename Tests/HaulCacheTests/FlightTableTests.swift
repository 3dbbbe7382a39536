import HaulCache
import Testing

@Suite struct FlightTableTests {
  private typealias Table = FlightTable<String>

  @Test func `equal requests share a flight, whose priority is the highest of theirs`() {
    var table = Table()
    #expect(table.handle(.join(1, "a", priority: 2)) == [.start(1, "a", priority: 2)])
    #expect(table.handle(.join(2, "a", priority: 0)) == [.shared(1, isPublished: false)])
    #expect(
      table.handle(.join(3, "a", priority: 4)) == [
        .shared(1, isPublished: false), .setPriority(1, 4),
      ])
    #expect(table.handle(.leave(3)) == [.setPriority(1, 2)])
    #expect(table.handle(.setPriority(2, 3)) == [.setPriority(1, 3)])
    #expect(table.handle(.published(1)) == [.deliver([1, 2])])
    #expect(table.handle(.ended(1)) == [])
    #expect(table.isEmpty)
  }

  @Test func `only the last one who leaves cancels, and a later request begins anew`() {
    var table = Table()
    _ = table.handle(.join(1, "a", priority: 0))
    _ = table.handle(.join(2, "a", priority: 0))
    #expect(table.handle(.leave(1)) == [])
    #expect(table.handle(.leave(1)) == [])
    #expect(table.handle(.leave(2)) == [.cancel(1)])
    #expect(table.handle(.join(3, "a", priority: 0)) == [.start(2, "a", priority: 0)])
    #expect(table.handle(.ended(1)) == [])
    #expect(table.handle(.ended(2)) == [.deliver([3])])
    #expect(table.isEmpty)
  }

  @Test func `a flight whose request was sent finishes though nobody waits, and is joined again`() {
    var table = Table()
    _ = table.handle(.join(1, "a", priority: 0))
    #expect(table.handle(.begun(1)) == [])
    #expect(table.handle(.leave(1)) == [])
    #expect(table.handle(.join(2, "a", priority: 0)) == [.shared(1, isPublished: false)])
    #expect(table.subscribers(of: 1) == [2])
    #expect(table.handle(.leave(2)) == [])
    #expect(table.handle(.ended(1)) == [.deliver([])])
    #expect(table.isEmpty)
  }

  @Test func `who joins after the result gets it until the flight ends`() {
    var table = Table()
    _ = table.handle(.join(1, "a", priority: 0))
    _ = table.handle(.published(1))
    #expect(table.handle(.join(2, "a", priority: 0)) == [.shared(1, isPublished: true)])
    #expect(table.handle(.leave(2)) == [])
    _ = table.handle(.ended(1))
    #expect(table.handle(.join(3, "a", priority: 0)) == [.start(2, "a", priority: 0)])
  }

  @Test func `each subscriber ends exactly once, whatever the order`() {
    var random = SeededRandom(3)
    for _ in 0..<2000 {
      var table = Table()
      var (waiting, flying): (Set<UInt64>, Set<UInt64>) = ([], [])
      var next: UInt64 = 0
      for _ in 0..<40 {
        let event: Table.Event =
          switch random.next() % 5 {
          case 0, 1: .join(next + 1, "\(random.next() % 3)", priority: Int(random.next() % 5))
          case 2: .leave(random.next() % (next + 1))
          case 3: .published(flying.randomElement(using: &random) ?? 0)
          default: .ended(flying.randomElement(using: &random) ?? 0)
          }
        let effects = table.handle(event)
        switch event {
        case .join(let id, _, _):
          next = id
          waiting.insert(id)
        case .leave(let id): waiting.remove(id)
        case .ended(let id): flying.remove(id)
        default: break
        }
        for effect in effects {
          switch effect {
          case .start(let id, _, _): #expect(flying.insert(id).inserted)
          case .shared(_, isPublished: true): waiting.remove(next)
          case .deliver(let ids): for id in ids { #expect(waiting.remove(id) != nil) }
          case .cancel(let id): #expect(flying.contains(id))
          default: break
          }
        }
      }
      for id in flying {
        for case .deliver(let ids) in table.handle(.ended(id)) { waiting.subtract(ids) }
      }
      #expect(waiting.isEmpty)
      #expect(table.isEmpty)
    }
  }
}

import HaulCore
import Testing

/// The owner of a file that was requested by its path.
@Suite struct PathReservationsTests {
  private let (a, b, c): (TransferID, TransferID, TransferID)
  private let file = FilePath("d/f")

  init() throws {
    let ids = (1...3).compactMap { TransferID(bits: $0) }
    try #require(ids.count == 3)
    (a, b, c) = (ids[0], ids[1], ids[2])
  }

  @Test func `Equivalent spellings of a path are one path, and uncertain ones differ`() {
    for text in ["d/f", "./d/f", "d//f", "d/./f"] { #expect(FilePath(text) == file, "\(text)") }
    for text in ["/d/f", "d/F", "d/../d/f", "d/f/g", "f"] {
      #expect(FilePath(text) != file, "\(text)")
    }
    #expect(FilePath("/d/f") == FilePath("//d/./f"))
  }

  @Test func `A live member keeps its path, and an ended one until another member takes it`() {
    var live: [TransferID: Bool] = [a: true, b: true]
    var owners = PathReservations()
    owners.take(file, for: a) { live[$0] }
    #expect(owners.owner(of: file, otherThan: b) { live[$0] } == a)
    #expect(owners.owner(of: file, otherThan: a) { live[$0] } == nil)
    live[a] = false
    #expect(owners.owner(of: file, otherThan: b) { live[$0] } == nil)
    owners.take(file, for: b) { live[$0] }
    #expect(owners.isDisplaced(a) && !owners.isDisplaced(b))
    #expect(owners.successor(of: a) { live[$0] } == b)
    live[b] = false
    #expect(owners.successor(of: a) { live[$0] } == nil)
    live[a] = true
    owners.reclaim(for: a) { live[$0] }
    #expect(!owners.isDisplaced(a) && owners.isDisplaced(b))
  }

  @Test func `The live member owns the path in every reading order`() {
    let live = [a: false, b: true, c: false]
    for order in [[a, b, c], [b, a, c], [c, a, b]] {
      var owners = PathReservations()
      for id in order { owners.take(file, for: id) { live[$0] } }
      #expect(owners.owner(of: file, otherThan: nil) { live[$0] } == b)
      #expect(owners.isDisplaced(a) && owners.isDisplaced(c) && !owners.isDisplaced(b))
    }
  }

  @Test func `A removed or redirected member releases its path`() {
    var live: [TransferID: Bool] = [a: true, b: true]
    var owners = PathReservations()
    owners.take(file, for: a) { live[$0] }
    live[a] = nil
    owners.removed(a)
    owners.take(file, for: b) { live[$0] }
    #expect(!owners.isDisplaced(a))
    owners.release(file, of: b)
    #expect(owners.owner(of: file, otherThan: nil) { live[$0] } == nil)
  }
}

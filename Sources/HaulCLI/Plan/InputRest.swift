package import HaulCore

/// Reads transfers one after the other, each with the number of its address in the arguments.
protocol TransferReader: Sendable {
  /// The next ones, as many as are wanted; fewer only at the end.
  /// - Throws: if the input cannot be read again.
  mutating func next(
    atMost count: Int
  ) throws(UsageError) -> [(request: TransferRequest, index: Int)]
}

/// What follows the first transfers of a long input. It was checked, and is read again as it is
/// worked off.
package final class InputRest: Sendable {
  /// How many transfers it has.
  package let count: Int
  /// How many transfers are in memory at once.
  package let window: Int
  let reader: any TransferReader

  init(count: Int, window: Int, _ reader: any TransferReader) {
    (self.count, self.window, self.reader) = (count, window, reader)
  }

  /// All of it, each transfer with the number of its address in the arguments.
  package func all() throws(UsageError) -> [(request: TransferRequest, index: Int)] {
    var reader = reader
    return try reader.next(atMost: count)
  }
}

extension InputRest: Hashable {
  package static func == (left: InputRest, right: InputRest) -> Bool { left === right }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Makes the transfers of items, such as those of a list.
protocol ItemTransfers: Sendable {
  mutating func transfer(for item: GetItem, number: Int) throws(UsageError) -> TransferRequest
}

/// The transfers of items that were checked.
struct ItemTransferReader: TransferReader {
  private var items: ItemReader
  private var transfers: any ItemTransfers
  /// The number of the last item that was read.
  private var number: Int
  /// The numbers of the items that are left out.
  private let leftOut: IndexBitSet

  init(
    _ items: ItemReader, _ transfers: any ItemTransfers, after number: Int,
    leavingOut leftOut: IndexBitSet
  ) {
    (self.items, self.transfers, self.number) = (items, transfers, number)
    self.leftOut = leftOut
  }

  mutating func next(
    atMost count: Int
  ) throws(UsageError) -> [(request: TransferRequest, index: Int)] {
    var next: [(request: TransferRequest, index: Int)] = []
    while next.count < count {
      let some = try items.next(atMost: count - next.count)
      if some.isEmpty { break }
      for item in some {
        number += 1
        if leftOut.contains(number) { continue }
        next.append((try transfers.transfer(for: item, number: number), number))
      }
    }
    return next
  }
}

/// What is found while the items of an input are checked: which are given twice or complete, and
/// notes on them.
struct ItemSurvey {
  private var notes: [String]
  private var givenTwice = 0
  /// The numbers of the items that are left out.
  private(set) var leftOut = IndexBitSet()
  private let complete: CompleteFiles?

  private static let maximumNotes = 1000

  /// - Parameter complete: what the manifest has; nil without one.
  init(_ notes: [String], _ complete: CompleteFiles?) {
    (self.notes, self.complete) = (notes, complete)
  }

  /// - Parameter warning: says that the item is given twice.
  /// - Returns: whether it is left out.
  mutating func leavesOut(
    _ number: Int, _ warning: String?, _ request: @autoclosure () -> TransferRequest
  ) -> Bool {
    if let warning {
      givenTwice += 1
      if givenTwice <= Self.maximumNotes { notes.append(warning) }
    } else if complete?.leaveOut(request()) != true {
      return false
    }
    leftOut.insert(number)
    return true
  }

  var allNotes: [String] {
    let more = givenTwice - Self.maximumNotes
    return more > 0 ? notes + ["\(Units.count(more)) more are given twice"] : notes
  }

  var manifest: RunManifest? { complete?.manifest }
}

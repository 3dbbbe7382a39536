import HaulCore
import Testing

/// Ids in a meaningless order, the same in every run.
struct Ids: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64 = 1) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func id() -> TransferID { TransferID(using: &self) }
}

func record(
  _ id: TransferID, rank: Int64 = 0, status: StoredStatus = .queued,
  _ change: (inout TransferRequest) throws -> Void = { _ in }
) throws -> TransferRecord {
  var request = TransferRequest.download(
    try ResourceURL("https://example.com/\(id).bin"), to: .directory("downloads"))
  try change(&request)
  var storedState = StoredState()
  storedState.rank = rank
  storedState.status = status
  return TransferRecord(id: id, request: request, storedState: storedState)
}

/// Records with increasing ranks and unordered ids.
func records(_ count: Int, from first: Int64 = 0, seed: UInt64 = 1) throws -> [TransferRecord] {
  var ids = Ids(seed: seed)
  return try (0..<count).map { try record(ids.id(), rank: first + Int64($0)) }
}

func adding(_ records: [TransferRecord]) -> StoreChange {
  var change = StoreChange()
  change.added = records
  return change
}

func updating(_ updates: [StoreChange.Update]) -> StoreChange {
  var change = StoreChange()
  change.updated = updates
  return change
}

func removing(_ ids: [TransferID]) -> StoreChange {
  var change = StoreChange()
  change.removed = ids
  return change
}

func reporting(_ numbers: ClosedRange<Int>, _ id: TransferID) -> StoreChange {
  var change = StoreChange()
  change.events = numbers.map {
    StoredEvent(number: $0, id: id, kind: .added(target: "file-\($0)"))
  }
  return change
}

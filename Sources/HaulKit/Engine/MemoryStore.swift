package import HaulCore
import NIOConcurrencyHelpers
import OrderedCollections

/// A store that ends with the process.
package struct MemoryStore: Store {
  private let state = NIOLockedValueBox(OrderedDictionary<TransferID, TransferRecord>())

  package init() {}

  package func insert(_ records: [TransferRecord]) async throws(TransferError) {
    state.withLockedValue { state in
      for record in records { state[record.id] = record }
    }
  }

  package func update(_ record: TransferRecord) async throws(TransferError) {
    state.withLockedValue { $0[record.id] = record }
  }

  package func records() async throws(TransferError) -> [TransferRecord] {
    state.withLockedValue { Array($0.values) }
  }
}

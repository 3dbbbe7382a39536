import HaulKit
import HaulStore

actor Downloads {
  private let manager: TransferManager

  init(directory: String) async throws {
    manager = try await TransferManager(directory: directory)
  }
}

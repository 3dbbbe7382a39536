import HaulKit
import HaulStore

actor Downloads {
  private let manager: TransferManager

  init(directory: String) async throws {
    manager = try await TransferManager(directory: directory)
  }

  func add(_ address: String, as name: String, to path: String) async throws -> Transfer {
    var request = try TransferRequest.download(ResourceURL(address), to: .file(path))
    request.identifier = name
    request.group = "library"
    return try await manager.add(request)
  }
}
